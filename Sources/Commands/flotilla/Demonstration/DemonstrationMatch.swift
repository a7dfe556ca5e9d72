internal import CatalogRecords

/// The match that the demonstration sends, in the JSON that a backend writes.
struct DemonstrationMatch {
    /// The id of the group: `match-42`.
    let group: String

    /// The content state 0:0.
    static let kickOffState = contentState(home: 0, minute: 1)
    /// The content state 1:0.
    static let goalState = contentState(home: 1, minute: 23)

    /// Returns a start for everyone. A dry run counts the phones that it would reach.
    func start(isDryRun: Bool = false) -> String {
        """
        {"event":"start","groupId":"\(group)","audience":"everyone",\(isDryRun ? #""dryRun":true,"# : "")\
        "attributesType":"\(DemonstrationApp.activityType.name)","attributes":{"home":"Larks","away":"Terns","competition":"Cup final"},\
        "contentState":\(Self.kickOffState),"alert":{"title":"Kick-off","body":"Larks against Terns"}}
        """
    }

    /// An update to the goal.
    var update: String {
        #"{"event":"update","groupId":"\#(group)","contentState":\#(Self.goalState)}"#
    }

    private static func contentState(home: Int, minute: Int) -> String {
        #"{"home":\#(home),"away":0,"minute":\#(minute),"phase":"1st half"}"#
    }
}
