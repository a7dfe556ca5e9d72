internal import Store

/// The tables of a lane's file. `TableKey` describes their keys.
struct LaneTables {
    static let names = [
        "names", "starts", "updates", "profiles", "activities", "tokens", "groups", "reported",
    ]

    /// The numbers of apps and activity types (`NameTable`).
    let names: Table
    /// The push-to-start tokens (`TokenValue`), by type.
    let starts: Table
    /// The update tokens (`TokenValue`), by group.
    let updates: Table
    /// The profiles of users and installations (`ProfileValue`).
    let profiles: Table
    /// An index of `updates`: the group of each activity.
    let activities: Table
    /// An index of `starts` and `updates` by token (`TokenConflicts`).
    let tokens: Table
    /// The number of rows that each group has in `updates` (`MemberCounts`).
    let groups: Table
    /// The changes that the lane has reported, until the group has committed them (`ReportedChanges`).
    let reported: Table

    init(_ file: StateFile) {
        names = file.table(named: "names")
        starts = file.table(named: "starts")
        updates = file.table(named: "updates")
        profiles = file.table(named: "profiles")
        activities = file.table(named: "activities")
        tokens = file.table(named: "tokens")
        groups = file.table(named: "groups")
        reported = file.table(named: "reported")
    }

    var all: [Table] { [names, starts, updates, profiles, activities, tokens, groups, reported] }
}

/// The number of rows of a lane.
package struct LaneRowCounts: Sendable, Equatable {
    /// The number of push-to-start tokens.
    package var starts = 0
    /// The number of tokens of running activities.
    package var updates = 0
    package var profiles = 0
}
