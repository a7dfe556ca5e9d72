package import JSON

/// The priority with which APNs delivers a push: the header `apns-priority`.
///
/// A send has the priority that its caller asks for. Pushes that Flotilla sends without a caller have the
/// priorities below. A state that is sent again, for example to a phone that reported a late token, keeps the
/// priority of its send.
package enum PushPriority: Int, Sendable, Hashable {
    /// Delivered at once. Each push uses the phone's budget for the activity.
    case immediate = 10
    /// Delivered when it suits the phone. It does not use the budget.
    case powerSaving = 5

    /// The priority of a send whose caller asks for none.
    package static let standard = immediate
    /// The priority of the END that a group's end date causes.
    package static let automaticEnd = immediate
    /// The priority of the END of an activity that the system is about to end itself, if no state is known for it.
    /// Otherwise that END has the priority of the newest state's send.
    package static let safetyEnd = powerSaving
}

extension JSONValue {
    /// Reads a priority as the number that APNs uses. Any other number is reported and read as `standard`.
    package func pushPriority() -> PushPriority {
        let number = int()
        if let priority = PushPriority(rawValue: number) { return priority }
        if kind == .integer {
            report(
                "must be 10 (at once) or 5 (when it suits the phone, without using its budget)",
                as: .outOfRange)
        }
        return .standard
    }
}
