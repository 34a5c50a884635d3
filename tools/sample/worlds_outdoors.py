"""Six worlds under the sky: a farm, a harbor, a railway, a football club, a mountain village and a space center."""

from __future__ import annotations

from tools.sample.lexicon import Building, Damage, Device, Keepsake, Report, World

FARM = World(
    name="farm",
    site="on the farm",
    roles=("farmer", "shepherd", "vet", "beekeeper", "gardener"),
    crew="farm_hand+",
    public="neighbor+",
    spots=("in the hay", "behind the henhouse", "under the apple_tree", "near the pond", "beside the gate"),
    tasks=(
        "milk the cow+ ; before - breakfast%",
        "feed the hungry calf+",
        "plant the seedling+ ; in the greenhouse",
        "shear the sheep+",
        "mend the wooden fence ; along the road",
        "pick the ripe cherry+",
        "clean_out the stable",
        "water the vegetable_garden",
        "stack the firewood% ; behind the house",
        "gather the egg+",
    ),
    skills=("shear - sheep+", "drive a tractor", "make - cheese%"),
    projects=("build a chicken_coop", "dig a deep well", "plant an orchard", "buy a bigger tractor"),
    devices=(
        Device("rusty water_pump", "leak", "repair", "wrench"),
        Device("old tractor", "fault", "repair", "spanner"),
        Device("milking_machine", "crack", "fix", "screwdriver"),
    ),
    keepsakes=(
        Keepsake("copper_bell", "heavy", "beautiful"),
        Keepsake("straw_hat", "light", "comfortable"),
        Keepsake("pocket_knife", "sharp", "useful"),
    ),
    damages=(
        Damage("hailstorm", "destroy", "young corn%", "replant"),
        Damage("flood", "damage", "stone_bridge", "rebuild"),
        Damage("strong wind", "tear off", "barn_roof", "replace"),
    ),
    buildings=(
        Building("ruined windmill", "behind the barn", "miller", "wall+", "thick", "keep their ladder+"),
        Building("round dovecote", "near the orchard", "monk", "door", "narrow", "store their apple+"),
    ),
    reports=(
        Report("long letter", "the dry summer", "mayor"),
        Report("short article", "the wild bee+", "editor"),
    ),
    sights=("piglet+", "beehive+", "sunflower+", "goat+"),
    goods=("seed_potato+", "fence_post+", "milk_can+"),
    events=("harvest_festival", "cattle_market"),
)

HARBOR = World(
    name="harbor",
    site="at the harbor",
    roles=("sailor", "captain", "welder", "diver", "boatbuilder"),
    crew="dock_worker+",
    public="passenger+",
    spots=("on the deck", "below the pier", "behind the crane", "in the lighthouse", "beside the anchor"),
    tasks=(
        "paint the hull",
        "repair the torn sail+",
        "unload the heavy crate+ ; from the ferry",
        "untangle the fishing_net+",
        "scrub the deck ; with a stiff brush",
        "weld the steel_plate+",
        "tie_up the boat+",
        "check the compass",
        "coil the wet rope+",
        "sell the fresh mackerel% ; at the market",
    ),
    skills=("mend - fishing_net+", "steer a ferry", "weld - steel%"),
    projects=("build a wooden schooner", "buy a fishing_boat", "restore an old tugboat", "open a sailing_school"),
    devices=(
        Device("diesel_engine", "leak", "repair", "wrench"),
        Device("rescue_boat", "hole", "patch", "hammer"),
        Device("loading_crane", "fault", "fix", "toolbox"),
    ),
    keepsakes=(
        Keepsake("brass_compass", "old", "precise"),
        Keepsake("signal_whistle", "small", "loud"),
        Keepsake("sea_chart", "yellow", "detailed"),
    ),
    damages=(
        Damage("hurricane", "sink", "fishing_boat+", "raise"),
        Damage("careless pilot", "damage", "fuel_dock", "repair"),
        Damage("huge wave", "smash", "harbor_wall", "rebuild"),
    ),
    buildings=(
        Building("abandoned lighthouse", "on the cliff", "shipowner", "tower", "white", "keep their lantern+"),
        Building("brick_warehouse", "behind the pier", "merchant", "window+", "small", "dry their net+"),
    ),
    reports=(
        Report("detailed report", "the missing barge", "harbor_master"),
        Report("polite letter", "the polluted bay", "minister"),
    ),
    sights=("seagull+", "sailing_ship+", "dolphin+", "buoy+"),
    goods=("life_jacket+", "oil_lamp+", "steel_cable+"),
    events=("boat_race", "ship_launch"),
)

RAILWAY = World(
    name="railway",
    site="at the station",
    roles=("engineer", "conductor", "station_master", "mechanic", "porter"),
    crew="track_worker+",
    public="traveler+",
    spots=("on the platform", "under a bench", "in the waiting_room", "beside the ticket_office", "in the tunnel"),
    tasks=(
        "inspect the brake+",
        "oil the wheel+",
        "punch the ticket+",
        "replace the cracked rail+ ; near the bridge",
        "load the luggage% ; onto the train",
        "announce the delay+",
        "test the signal_light+",
        "uncouple the last carriage",
        "sweep the platform+",
        "lower the barrier",
    ),
    skills=("drive a locomotive", "read - track_plan+", "repair - brake+"),
    projects=("restore a steam_locomotive", "write a railway_guide", "build a model_railroad", "open a station_cafe"),
    devices=(
        Device("ticket_machine", "fault", "repair", "screwdriver"),
        Device("steam_boiler", "crack", "weld", "torch"),
        Device("station_clock", "loose spring", "fix", "tiny screwdriver"),
    ),
    keepsakes=(
        Keepsake("gold_watch", "elegant", "accurate"),
        Keepsake("leather_suitcase", "heavy", "elegant"),
        Keepsake("season_ticket", "expensive", "useful"),
    ),
    damages=(
        Damage("landslide", "block", "mountain_tunnel", "clear"),
        Damage("falling tree", "cut", "power_line", "replace"),
        Damage("young driver", "break", "crossing_gate", "repair"),
    ),
    buildings=(
        Building("wooden signal_box", "beside the track", "carpenter", "stair+", "steep", "keep their lamp+"),
        Building("grand terminal", "near the river", "banker", "hall", "bright", "leave their bicycle+"),
    ),
    reports=(
        Report("careful report", "the night_train+", "director"),
        Report("angry letter", "the broken elevator", "station_manager"),
    ),
    sights=("freight_car+", "steam_engine+", "iron_bridge+", "uniform+"),
    goods=("brake_pad+", "light_bulb+", "wooden sleeper+"),
    events=("opening_ceremony", "train_exhibition"),
)

FOOTBALL = World(
    name="football",
    site="at the stadium",
    roles=("coach", "goalkeeper", "striker", "groundskeeper", "referee"),
    crew="player+",
    public="fan+",
    spots=("in the locker_room", "behind the goal", "on the bench", "under the stand", "beside the trophy_case"),
    tasks=(
        "mow the pitch",
        "pump_up the ball+",
        "practice the free kick+",
        "wash the muddy jersey+",
        "study the video+ ; of a rival team",
        "train the young defender+",
        "paint the white line+",
        "collect the training_cone+",
        "water the dry grass%",
        "polish the trophy ; with a soft cloth",
    ),
    skills=("take - penalty_kick+", "train - goalkeeper+", "keep a cool head ; under - pressure%"),
    projects=("start a youth_team", "write a training_plan", "build a new grandstand", "organize a charity_match"),
    devices=(
        Device("goal_net", "hole", "mend", "needle"),
        Device("lawn_mower", "fault", "repair", "wrench"),
        Device("electronic scoreboard", "loose cable", "fix", "ladder"),
    ),
    keepsakes=(
        Keepsake("silver_medal", "bright", "precious"),
        Keepsake("wool_scarf", "red", "warm"),
        Keepsake("signed ball", "rare", "valuable"),
    ),
    damages=(
        Damage("frost", "ruin", "training_pitch", "reseed"),
        Damage("angry crowd", "break", "metal_gate+", "replace"),
        Damage("thunderstorm", "flood", "locker_room", "dry"),
    ),
    buildings=(
        Building("tiny clubhouse", "behind the stadium", "brewer", "roof", "green", "hang their flag+"),
        Building(
            "concrete_grandstand", "near the parking_lot", "city_council", "seat+", "hard", "celebrate their victory+"
        ),
    ),
    reports=(
        Report("critical article", "the ticket_price+", "club_president"),
        Report("frank report", "the injured captain", "coach"),
    ),
    sights=("trophy+", "old jersey+", "floodlight+", "team_photo+"),
    goods=("shin_guard+", "corner_flag+", "practice_ball+"),
    events=("cup_final", "opening_match"),
)

MOUNTAIN = World(
    name="mountain",
    site="in the valley",
    roles=("guide", "climber", "ranger", "innkeeper", "ski_instructor"),
    crew="rescuer+",
    public="hiker+",
    spots=("behind the hut", "on the ridge", "near the waterfall", "under a rock", "in the rescue_tent"),
    tasks=(
        "mark the steep trail+",
        "pack the climbing_rope+",
        "light a fire ; in the stove",
        "shovel the snow% ; from the path",
        "rescue a lost hiker",
        "wax the ski+",
        "count the wild goat+ ; on the slope",
        "read the weather_map",
        "put_up the tent+",
        "fill the water_bottle+ ; at the spring",
    ),
    skills=("climb - frozen waterfall+", "use a compass", "build an igloo"),
    projects=("build a stone_hut", "climb the north face", "draw a trail_map", "open a ski_school"),
    devices=(
        Device("cable_car", "worn gear", "repair", "winch"),
        Device("radio_transmitter", "fault", "fix", "battery"),
        Device("rope_bridge", "gap", "mend", "plank"),
    ),
    keepsakes=(
        Keepsake("ice_ax", "light", "strong"),
        Keepsake("walking_stick", "smooth", "strong"),
        Keepsake("silver_flask", "tiny", "pretty"),
    ),
    damages=(
        Damage("avalanche", "bury", "access_road", "clear"),
        Damage("blizzard", "knock down", "radio_mast", "raise"),
        Damage("rockfall", "crush", "wooden bridge", "rebuild"),
    ),
    buildings=(
        Building("lonely chapel", "above the village", "hermit", "bell", "famous", "leave their candle+"),
        Building("stone_shelter", "on the pass", "soldier", "floor", "cold", "dry their sock+"),
    ),
    reports=(
        Report("brief report", "the melting glacier", "professor"),
        Report("warm letter", "the rescue_team", "newspaper"),
    ),
    sights=("eagle+", "glacier+", "alpine flower+", "marmot+"),
    goods=("woolen blanket+", "climbing_helmet+", "tent_peg+"),
    events=("ski_race", "summer_festival"),
)

SPACE = World(
    name="space",
    site="at the space_center",
    roles=("astronaut", "pilot", "physicist", "flight_director", "astronomer"),
    crew="technician+",
    public="journalist+",
    spots=(
        "in the control_room",
        "behind the launch_pad",
        "inside the capsule",
        "under the control_panel",
        "beside the antenna",
    ),
    tasks=(
        "calculate the orbit ; of a satellite",
        "test the space_suit+",
        "align the solar_panel+",
        "download the latest image+",
        "check_out the docking_port",
        "measure the radiation%",
        "launch a weather_balloon",
        "monitor the oxygen_level+",
        "fuel the rocket",
        "analyze the dust% ; from the comet",
    ),
    skills=("fly a spaceship", "repair - satellite+", "grow - vegetable+ ; in - space%"),
    projects=("design a moon_lander", "build a radio_telescope", "grow a lettuce_garden", "launch a small satellite"),
    devices=(
        Device("cooling_system", "leak", "repair", "sealing_ring"),
        Device("robotic arm", "fault", "fix", "new motor"),
        Device("main telescope", "scratch", "polish", "special cloth"),
    ),
    keepsakes=(
        Keepsake("gray meteorite", "heavy", "rare"),
        Keepsake("star_map", "large", "colorful"),
        Keepsake("mission_patch", "round", "colorful"),
    ),
    damages=(
        Damage("solar storm", "disable", "navigation_system", "restart"),
        Damage("tiny meteor", "pierce", "outer shield", "patch"),
        Damage("software_error", "delay", "rocket_launch", "reschedule"),
    ),
    buildings=(
        Building("domed observatory", "on the hill", "countess", "telescope", "powerful", "store their record+"),
        Building("empty hangar", "near the runway", "aviator", "gate+", "enormous", "test their drone+"),
    ),
    reports=(
        Report("technical report", "the failed engine", "flight_director"),
        Report("popular article", "the red planet", "editor"),
    ),
    sights=("rocket+", "moon_rock+", "space_probe+", "lunar_rover+"),
    goods=("fuel_cell+", "circuit_board+", "food_pack+"),
    events=("moon_landing", "launch_rehearsal"),
)
