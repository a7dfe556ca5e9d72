internal import JSON

/// The condition that `POST /v1/wait` waits for: a value in the content state of an activity, and the state
/// of the activity.
package struct ScreenCondition: Sendable, Hashable {
    /// Position of the value in the content state.
    package var pointer: JSONPointer
    /// The expected value. Nil accepts any value, also a missing one.
    package var equals: ComparedJSON?
    /// The expected state of the activity. Nil accepts every state.
    package var state: PhoneScreen.Activity.ActivityState?

    package init(
        pointer: JSONPointer, equals: ComparedJSON?, state: PhoneScreen.Activity.ActivityState? = nil
    ) {
        self.pointer = pointer
        self.equals = equals
        self.state = state
    }

    /// Whether the content state has the expected value.
    func isMet(by content: RawJSON?) -> Bool {
        guard let equals else { return true }
        guard let content, let value = ComparedJSON(content) else { return false }
        return value[pointer] == equals
    }
}

/// The number of phones that meet a condition, and the number of phones that could.
package struct ScreenCount: Sendable, Hashable {
    package var showing: Int
    /// Number of phones that show an activity, or an activity of the group.
    package var total: Int
}
