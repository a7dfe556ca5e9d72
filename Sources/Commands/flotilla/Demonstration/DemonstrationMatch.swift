internal import LiveActivity

/// The match that the demonstration sends, in the JSON that a backend writes.
struct DemonstrationMatch {
    let group: String

    static let kickOff = state(home: 0)
    static let goal = state(home: 1)

    /// Returns a start for everyone. A dry run counts the phones that it would reach.
    func start(isDryRun: Bool = false) -> String {
        """
        {"event":"start","groupId":"\(group)","audience":"everyone",\(isDryRun ? #""dryRun":true,"# : "")\
        "attributesType":"\(DemonstrationApp.type.name)","attributes":{"home":"Larks","away":"Terns"},\
        "contentState":\(Self.kickOff),"alert":{"title":"Kick-off","body":"Larks against Terns"}}
        """
    }

    var update: String {
        #"{"event":"update","groupId":"\#(group)","contentState":\#(Self.goal)}"#
    }

    private static func state(home: Int) -> String { #"{"home":\#(home),"away":0}"# }
}
