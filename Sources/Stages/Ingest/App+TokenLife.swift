internal import LiveActivity

extension App {
    func updateTokenMilliseconds(_ type: String?) -> Int64 {
        guard let type, let known = types.first(where: { $0.name == type }) else {
            return ActivityType.updateTokenMillisecondsDefault
        }
        return known.updateTokenMilliseconds
    }
}
