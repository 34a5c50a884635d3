"""What the studies that cut heads share: importance by gradients, and what an earlier ablation measured."""
