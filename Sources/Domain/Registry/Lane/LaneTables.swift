internal import Store

/// The tables of a lane. `TableKey` describes their keys.
struct LaneTables {
    static let names = ["names", "starts", "updates", "profiles", "activities", "recipients", "tokens"]

    let names: Table
    let starts: Table
    let updates: Table
    let profiles: Table
    let activities: Table
    let recipients: Table
    let tokens: Table

    init(_ file: StateFile) {
        names = file.table(named: "names")
        starts = file.table(named: "starts")
        updates = file.table(named: "updates")
        profiles = file.table(named: "profiles")
        activities = file.table(named: "activities")
        recipients = file.table(named: "recipients")
        tokens = file.table(named: "tokens")
    }

    var all: [Table] { [names, starts, updates, profiles, activities, recipients, tokens] }
}

/// The number of rows of a lane.
package struct LaneRowCounts: Sendable, Equatable {
    /// The number of push-to-start tokens.
    package var starts = 0
    /// The number of tokens of running activities.
    package var updates = 0
    package var profiles = 0
}
