package import JSON

/// A snapshot of one group: the content states that its activities show on all phones.
package struct GroupScreens: Sendable, Hashable {
    /// A content state that at least one activity shows.
    package struct ShownState: Sendable, Hashable {
        package var contentState: RawJSON?
        /// Number of activities that show it.
        package var activities: Int
    }

    package var group: String
    /// Number of activities on screens, including ended ones.
    package var activities: Int
    /// Number of phones with more than one activity of the group. A duplicate start causes this.
    package var phonesWithSeveral: Int
    /// One page of the shown content states, the most frequent first.
    package var shownStates: [ShownState]
    /// Number of different content states.
    package var stateCount: Int
}
