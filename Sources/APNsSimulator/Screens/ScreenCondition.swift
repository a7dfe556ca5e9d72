internal import LiveActivity

/// What somebody waits for: an activity whose content-state has a value at a place, and a state.
package struct ScreenCondition: Sendable, Hashable {
    /// Where in the content-state.
    package var pointer: JSONPointer
    /// Nil for whatever there is, also for nothing.
    package var equals: ComparedJSON?
    /// Nil for every state.
    package var state: PhoneScreen.Activity.State?

    package init(
        pointer: JSONPointer, equals: ComparedJSON?, state: PhoneScreen.Activity.State? = nil
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

/// How many phones show what is waited for.
package struct ScreenCount: Sendable, Hashable {
    package var showing: Int
    package var of: Int
}
