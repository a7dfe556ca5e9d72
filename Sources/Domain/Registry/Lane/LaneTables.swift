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
        names = file.table("names")
        starts = file.table("starts")
        updates = file.table("updates")
        profiles = file.table("profiles")
        activities = file.table("activities")
        recipients = file.table("recipients")
        tokens = file.table("tokens")
    }

    var all: [Table] { [names, starts, updates, profiles, activities, recipients, tokens] }
}

/// The number of rows of a lane.
package struct LaneCounts: Sendable, Equatable {
    /// The number of push-to-start tokens.
    package var starts = 0
    /// The number of tokens of running activities.
    package var updates = 0
    package var profiles = 0
}
