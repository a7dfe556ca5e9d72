/// Events in a history besides sends, cancels, tokens and crashes. A seed chooses some of them, so that each
/// occurs both alone and with the others.
struct Happenings: OptionSet {
    let rawValue: Int

    /// Apps begin activities themselves, also in groups that are started.
    static let ownActivities = Happenings(rawValue: 1)
    /// Sends name activities of a group.
    static let namedActivities = Happenings(rawValue: 2)

    /// Starts that also reach installations that were started before.
    static let restarts = Happenings(rawValue: 4)
    /// After the history has settled, eight hours pass, and safety ENDs end all running activities.
    static let safetyEnds = Happenings(rawValue: 8)

    static let all: Happenings = [.ownActivities, .namedActivities, .restarts, .safetyEnds]
}
