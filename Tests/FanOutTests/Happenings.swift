/// What may happen in a history beside sends, cancels, tokens and crashes. A seed chooses some of them, so that each
/// meets the others, and is met alone.
struct Happenings: OptionSet {
    let rawValue: Int

    /// Apps begin activities by themselves in groups that are started, too.
    static let ownActivities = Happenings(rawValue: 1)
    /// Sends name activities of a group.
    static let namedActivities = Happenings(rawValue: 2)

    static let all: Happenings = [.ownActivities, .namedActivities]
}
