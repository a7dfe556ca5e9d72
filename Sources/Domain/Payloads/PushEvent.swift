/// The event of a push: its effect on an activity. The raw value is the text in the payload.
package enum PushEvent: String, Sendable, CaseIterable {
    case start
    case update
    case end
}
