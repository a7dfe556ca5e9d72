internal import CatalogRecords

extension App {
    /// Returns the lifetime of update tokens of an activity type. Unknown types have the default.
    func updateTokenMilliseconds(ofType type: String?) -> Int64 {
        guard let type, let known = activityTypes.first(where: { $0.name == type }) else {
            return ActivityType.updateTokenMillisecondsDefault
        }
        return known.updateTokenMilliseconds
    }
}
