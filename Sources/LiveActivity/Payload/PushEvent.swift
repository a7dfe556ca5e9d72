/// What a push does to an activity.
package enum PushEvent: String, Sendable, CaseIterable {
    case start
    case update
    case end
}
