internal import LiveActivity

/// The condition of a wait: an activity with a value at a place in its content state, and a state.
package struct ScreenCondition: Sendable, Hashable {
    /// Place in the content state.
    package var pointer: JSONPointer
    /// The expected value. Nil accepts any value, also a missing one.
    package var equals: ComparedJSON?
    /// The expected state. Nil accepts every state.
    package var state: PhoneScreen.Activity.ActivityState?

    package init(
        pointer: JSONPointer, equals: ComparedJSON?, state: PhoneScreen.Activity.ActivityState? = nil
    ) {
        self.pointer = pointer
        self.equals = equals
        self.state = state
    }

    func isMet(by content: RawJSON?) -> Bool {
        guard let equals else { return true }
        return content.flatMap { ComparedJSON($0) }?[pointer] == equals
    }
}

/// The number of phones that meet a condition.
package struct ScreenCount: Sendable, Hashable {
    package var showing: Int
    package var total: Int
}
