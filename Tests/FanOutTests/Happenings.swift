/// What may happen in a history beside sends, cancels, tokens and crashes. A seed chooses some of them, so that each
/// meets the others, and is met alone.
struct Happenings: OptionSet {
    let rawValue: Int

    /// Apps begin activities by themselves in groups that are started, too.
    static let ownActivities = Happenings(rawValue: 1)
    /// Sends name activities of a group.
    static let namedActivities = Happenings(rawValue: 2)

    /// Starts that are for whoever was started before, too.
    static let restarts = Happenings(rawValue: 4)
    /// When all is quiet, a day passes, and whatever still runs is ended before the system does it.
    static let safetyEnds = Happenings(rawValue: 8)

    static let all: Happenings = [.ownActivities, .namedActivities, .restarts, .safetyEnds]
}
