internal import CatalogRecords

extension App {
    func updateTokenMilliseconds(ofType type: String?) -> Int64 {
        guard let type, let known = activityTypes.first(where: { $0.name == type }) else {
            return ActivityType.updateTokenMillisecondsDefault
        }
        return known.updateTokenMilliseconds
    }
}
