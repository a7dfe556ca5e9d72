/// Events in a history besides sends, cancels, tokens and crashes. A seed chooses some of them, so that each
/// occurs both alone and with the others.
struct ExtraEvents: OptionSet {
    let rawValue: Int

    /// Apps begin activities themselves, also in groups that are started.
    static let ownActivities = ExtraEvents(rawValue: 1)
    /// Sends name activities of a group.
    static let namedActivities = ExtraEvents(rawValue: 2)

    /// Starts that also reach installations that were started before.
    static let restarts = ExtraEvents(rawValue: 4)
    /// After the history has settled, eight hours pass, and safety ENDs end all running activities.
    static let safetyEnds = ExtraEvents(rawValue: 8)

    /// Phones report the token of an activity again, and APNs accepts tokens for the first time. Such records change no
    /// token.
    static let repeatedReports = ExtraEvents(rawValue: 16)

    static let all: ExtraEvents = [
        .ownActivities, .namedActivities, .restarts, .safetyEnds, .repeatedReports,
    ]
}
