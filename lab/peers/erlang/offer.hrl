%% What answers a caller, and one of the shapes.
-record(offer, {sum, name, tags, weight}).
