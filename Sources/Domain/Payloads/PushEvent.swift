/// The effect of a push on an activity.
package enum PushEvent: String, Sendable, CaseIterable {
    case start
    case update
    case end
}
