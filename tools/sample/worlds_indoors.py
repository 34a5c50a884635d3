"""Seven worlds under a roof: a restaurant, a hospital, a school, a court, a concert hall, a company and a museum."""

from __future__ import annotations

from tools.sample.lexicon import Building, Damage, Device, Keepsake, Report, World

RESTAURANT = World(
    name="restaurant",
    site="at the restaurant",
    roles=("cook", "bartender", "baker", "dishwasher", "pastry_chef"),
    crew="kitchen_helper+",
    public="guest+",
    spots=("in the pantry", "on the top shelf", "behind the counter", "under the table", "beside the oven"),
    tasks=(
        "peel the onion+",
        "bake the bread% ; in the brick_oven",
        "season the soup ; with - pepper%",
        "set the table+",
        "chop the carrot+",
        "fry the trout ; in - butter%",
        "wash the dirty plate+",
        "whip_up a chocolate_cream",
        "serve the dessert%",
        "sharpen the kitchen_knife+",
    ),
    skills=("bake - sourdough%", "carve a turkey", "decorate - cake+"),
    projects=("write a cookbook", "invent a spicy sauce", "bake a wedding_cake", "open a small bakery"),
    devices=(
        Device("dough_mixer", "fault", "repair", "screwdriver"),
        Device("coffee_machine", "leak", "fix", "rubber_ring"),
        Device("iron_pan", "deep scratch", "polish", "steel_brush"),
    ),
    keepsakes=(
        Keepsake("silver_spoon", "thin", "elegant"),
        Keepsake("recipe_book", "thick", "funny"),
        Keepsake("linen_apron", "white", "practical"),
    ),
    damages=(
        Damage("grease_fire", "blacken", "kitchen_wall+", "repaint"),
        Damage("burst pipe", "flood", "wine_cellar", "drain"),
        Damage("clumsy guest", "break", "crystal_vase", "replace"),
    ),
    buildings=(
        Building("cozy tavern", "behind the church", "brewer", "ceiling", "low", "celebrate their birthday+"),
        Building("outdoor oven", "in the courtyard", "mason", "chimney", "crooked", "bake their pizza+"),
    ),
    reports=(
        Report("friendly review", "the new menu", "owner"),
        Report("long complaint", "the cold soup", "manager"),
    ),
    sights=("lobster+", "wine_barrel+", "layer_cake+", "copper_pot+"),
    goods=("wine_glass+", "lemon+", "soup_bowl+"),
    events=("wedding_banquet", "wine_tasting"),
)

HOSPITAL = World(
    name="hospital",
    site="at the hospital",
    roles=("nurse", "surgeon", "dentist", "pharmacist", "ambulance_driver"),
    crew="student_nurse+",
    public="patient+",
    spots=("in the ward", "on the tray", "behind the curtain", "in the laboratory", "under the bed"),
    tasks=(
        "examine a sick child",
        "change the bandage+",
        "take the temperature ; of a patient",
        "prepare the vaccine+",
        "stitch_up the wound",
        "clean the surgical instrument+",
        "fill_in the admission_form+",
        "check the blood_sample+ ; in the laboratory",
        "make the bed+",
        "push a wheelchair ; to the elevator",
    ),
    skills=("give - injection+", "read - brain_scan+", "stitch - wound+"),
    projects=("open a rural clinic", "test a new drug", "write a health_guide", "equip a modern laboratory"),
    devices=(
        Device("heart_monitor", "fault", "repair", "spare cable"),
        Device("oxygen_tank", "leak", "seal", "valve"),
        Device("hospital_bed", "loose wheel", "fix", "screwdriver"),
    ),
    keepsakes=(
        Keepsake("stethoscope", "modern", "reliable"),
        Keepsake("teddy_bear", "brown", "soft"),
        Keepsake("greeting_card", "simple", "touching"),
    ),
    damages=(
        Damage("earthquake", "crack", "operating_room", "close"),
        Damage("power_failure", "stop", "breathing_machine+", "restart"),
        Damage("virus", "infect", "hospital_computer+", "clean"),
    ),
    buildings=(
        Building("quiet sanatorium", "above the lake", "physician", "balcony", "sunny", "spend their vacation+"),
        Building("herb_garden", "behind the hospital", "nun", "path+", "narrow", "enjoy their lunch_break+"),
    ),
    reports=(
        Report("clear report", "the rare disease", "chief_surgeon"),
        Report("grateful letter", "the night_nurse+", "hospital_director"),
    ),
    sights=("ambulance+", "microscope+", "incubator+", "helicopter+"),
    goods=("rubber_glove+", "face_mask+", "hospital_gown+"),
    events=("difficult operation", "health_inspection"),
)

SCHOOL = World(
    name="school",
    site="at the school",
    roles=("teacher", "librarian", "janitor", "math_teacher", "school_nurse"),
    crew="volunteer+",
    public="pupil+",
    spots=("in the library", "on the windowsill", "under a desk", "behind the gym", "in the attic"),
    tasks=(
        "correct the essay+",
        "explain the fraction+ ; on the blackboard",
        "hand_out the notebook+",
        "decorate the classroom ; with - paper_star+",
        "return the library_book+",
        "learn the poem ; by - heart",
        "clean the aquarium",
        "solve the hard equation+",
        "rehearse the play ; in the gym",
        "count the chair+",
    ),
    skills=("play the recorder", "speak - French%", "solve - equation+"),
    projects=("start a chess_club", "organize a science_fair", "write a school_play", "paint a large mural"),
    devices=(
        Device("slide_projector", "fault", "repair", "new lamp"),
        Device("school_bus", "strange noise", "fix", "toolbox"),
        Device("wall_map", "tear", "mend", "sharp needle"),
    ),
    keepsakes=(
        Keepsake("fountain_pen", "black", "elegant"),
        Keepsake("picture_book", "funny", "colorful"),
        Keepsake("library_card", "blue", "useful"),
    ),
    damages=(
        Damage("careless pupil", "break", "classroom_window", "replace"),
        Damage("heavy rain", "soak", "storage_room", "empty"),
        Damage("hungry mouse", "chew up", "history_book+", "replace"),
    ),
    buildings=(
        Building(
            "village_schoolhouse", "beside the chapel", "blacksmith", "stove", "rusty", "exhibit their painting+"
        ),
        Building("glass_greenhouse", "in the schoolyard", "botanist", "shelf+", "full", "grow their bean+"),
    ),
    reports=(
        Report("short essay", "the polar bear+", "teacher"),
        Report("serious letter", "the dangerous crossing", "mayor"),
    ),
    sights=("fossil+", "butterfly+", "globe+", "musical instrument+"),
    goods=("pencil+", "dictionary+", "crayon+"),
    events=("spelling_contest", "summer_concert"),
)

COURT = World(
    name="court",
    site="at the courthouse",
    roles=("judge", "lawyer", "prosecutor", "secretary", "detective"),
    crew="clerk+",
    public="juror+",
    spots=("in the archive", "on the witness_stand", "behind the door", "in the hallway", "under a chair"),
    tasks=(
        "question the witness ; about the robbery",
        "read the verdict",
        "file the document+ ; in the archive",
        "study the evidence%",
        "interview a suspect",
        "copy the contract+",
        "look_up the old statute+",
        "sign the warrant",
        "call the next witness",
        "compare the fingerprint+",
    ),
    skills=("question - witness+", "write - contract+", "compare - fingerprint+"),
    projects=("write a crime_novel", "reform an unjust law", "open a law_office", "defend a young artist"),
    devices=(
        Device("recording_machine", "fault", "repair", "new cable"),
        Device("courtroom_microphone", "loose wire", "fix", "screwdriver"),
        Device("steel_safe", "dent", "open", "key"),
    ),
    keepsakes=(
        Keepsake("wooden gavel", "dark", "famous"),
        Keepsake("leather_briefcase", "old", "elegant"),
        Keepsake("crime_novel", "long", "exciting"),
    ),
    damages=(
        Damage("small fire", "destroy", "court_record+", "restore"),
        Damage("angry defendant", "overturn", "oak_table", "replace"),
        Damage("cunning thief", "force", "archive_door", "repair"),
    ),
    buildings=(
        Building("former prison", "near the courthouse", "duke", "cell+", "dark", "store their file+"),
        Building("marble_library", "across the street", "senator", "column+", "tall", "prepare their case+"),
    ),
    reports=(
        Report("secret memo", "the stolen painting", "prosecutor"),
        Report("sensational article", "the bribery_trial", "editor"),
    ),
    sights=("law_book+", "oil_portrait+", "prison_cell+", "black robe+"),
    goods=("office_chair+", "file_cabinet+", "envelope+"),
    events=("murder_trial", "final hearing"),
)

ORCHESTRA = World(
    name="orchestra",
    site="at the concert_hall",
    roles=("conductor", "violinist", "pianist", "cellist", "stage_manager"),
    crew="musician+",
    public="listener+",
    spots=("on the stage", "behind the piano", "in the dressing_room", "under a chair", "in the balcony"),
    tasks=(
        "tune the violin+",
        "practice the slow movement",
        "turn the page+ ; for the pianist",
        "rehearse the final scene",
        "copy_out the trumpet_part+",
        "arrange the chair+ ; on the stage",
        "record a symphony",
        "polish the tuba",
        "sing the high note+",
        "dim the light+",
    ),
    skills=("play the oboe", "conduct an orchestra", "tune a harp"),
    projects=("compose an opera", "form a string_quartet", "record an album", "build a harpsichord"),
    devices=(
        Device("concert_piano", "broken string", "repair", "tuning_fork"),
        Device("stage_curtain", "tear", "mend", "strong thread"),
        Device("church_organ", "cracked pipe", "fix", "lead_patch"),
    ),
    keepsakes=(
        Keepsake("wooden flute", "simple", "beautiful"),
        Keepsake("music_stand", "light", "elegant"),
        Keepsake("signed score", "rare", "precious"),
    ),
    damages=(
        Damage("careless dancer", "tear", "silk_costume+", "mend"),
        Damage("leaking roof", "ruin", "velvet_seat+", "dry"),
        Damage("clumsy porter", "drop", "old cello", "repair"),
    ),
    buildings=(
        Building("pavilion", "in the park", "emperor", "stage", "wide", "play their summer_concert+"),
        Building(
            "baroque palace", "near the opera_house", "princess", "ballroom", "splendid", "rehearse their duet+"
        ),
    ),
    reports=(
        Report("glowing review", "the young soprano", "conductor"),
        Report("private letter", "the lost symphony", "publisher"),
    ),
    sights=("harp+", "golden balcony+", "trumpet+", "silk_costume+"),
    goods=("violin_string+", "candle+", "concert_poster+"),
    events=("opening_concert", "piano_contest"),
)

SOFTWARE = World(
    name="software",
    site="at the company",
    roles=("programmer", "designer", "tester", "project_manager", "intern"),
    crew="developer+",
    public="customer+",
    spots=("on the windowsill", "in the server_room", "behind the monitor", "under the desk", "in the meeting_room"),
    tasks=(
        "fix the login_bug",
        "review the code%",
        "back_up the database",
        "test the payment_page",
        "write the manual",
        "answer the support_ticket+",
        "delete the duplicate file+ ; from the server",
        "redesign the search_menu",
        "install the security_update",
        "rename the confusing variable+",
    ),
    skills=("write - compiler+", "read - old code%", "debug a network"),
    projects=("develop a chess_program", "design a travel_app", "rewrite an old compiler", "launch an online store"),
    devices=(
        Device("mail_server", "fault", "repair", "new disk"),
        Device("office_printer", "paper_jam", "fix", "thin brush"),
        Device("test_robot", "loose cable", "fix", "soldering_iron"),
    ),
    keepsakes=(
        Keepsake("mechanical keyboard", "loud", "sturdy"),
        Keepsake("memory_stick", "tiny", "fast"),
        Keepsake("coffee_mug", "huge", "funny"),
    ),
    damages=(
        Damage("malicious program", "erase", "customer_list", "restore"),
        Damage("power_cut", "damage", "backup_server", "replace"),
        Damage("careless intern", "delete", "source_code%", "recover"),
    ),
    buildings=(
        Building("converted factory", "behind the train_station", "weaver", "window+", "wide", "park their bicycle+"),
        Building("windowless bunker", "under the office", "general", "door", "massive", "cool their server+"),
    ),
    reports=(
        Report("blunt email", "the delayed release", "project_manager"),
        Report("blog_post", "the hidden error", "chief_engineer"),
    ),
    sights=("robot+", "touch_screen+", "punch_card+", "game_console+"),
    goods=("laptop+", "network_cable+", "headset+"),
    events=("product_launch", "safety_audit"),
)

MUSEUM = World(
    name="museum",
    site="in the museum",
    roles=("curator", "painter", "historian", "guard", "archaeologist"),
    crew="restorer+",
    public="visitor+",
    spots=("in the basement", "behind the statue", "inside a glass_case", "on the top shelf", "in the workshop"),
    tasks=(
        "restore the faded portrait",
        "dust_off the antique clock+",
        "photograph the Roman coin+",
        "catalog the drawing+",
        "hang_up the landscape ; in the main gallery",
        "guide a group ; through the exhibition",
        "lock the display_case+",
        "translate the inscription+",
        "glue the broken vase",
        "sketch the marble_statue",
    ),
    skills=("restore - fresco+", "identify - Roman coin+", "carve - marble%"),
    projects=("paint a large portrait", "buy a bronze_statue", "organize a large exhibition", "write an art_history"),
    devices=(
        Device("alarm_system", "fault", "repair", "new sensor"),
        Device("antique clock", "worn gear", "restore", "tiny file"),
        Device("marble_fountain", "crack", "seal", "clay_plug"),
    ),
    keepsakes=(
        Keepsake("jade_ring", "green", "valuable"),
        Keepsake("ivory_comb", "ancient", "delicate"),
        Keepsake("clay_figure", "small", "mysterious"),
    ),
    damages=(
        Damage("water_leak", "stain", "Persian carpet", "clean"),
        Damage("strange fungus", "attack", "medieval tapestry", "treat"),
        Damage("nervous burglar", "scratch", "bronze_door", "restore"),
    ),
    buildings=(
        Building("sculpture_garden", "behind the museum", "collector", "hedge+", "high", "draw their sketch+"),
        Building("Gothic tower", "across the square", "bishop", "staircase", "dusty", "meet their friend+"),
    ),
    reports=(
        Report("learned article", "the forged painting", "curator"),
        Report("careful report", "the Greek vase+", "museum_director"),
    ),
    sights=("mummy+", "dinosaur_bone+", "gold_coin+", "oil_painting+"),
    goods=("picture_frame+", "glass_case+", "paint_brush+"),
    events=("gala_opening", "art_auction"),
)
