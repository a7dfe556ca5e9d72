internal import APNsSimulator
internal import Glibc
internal import LiveActivity
internal import Telemetry

/// Prints a line for a group each time its lock screens change.
enum DemonstrationWatch {
    private static let pauseMilliseconds = 500
    /// The limit on groups that are watched.
    private static let groupsMax = 100

    static func begin(_ simulator: SimulatorService) -> Task<Void, Never> {
        Task {
            var told = lines(simulator)
            while (try? await Task.sleep(for: .milliseconds(pauseMilliseconds))) != nil {
                let now = lines(simulator)
                for (group, line) in now.sorted(by: { $0.key < $1.key }) where told[group] != line {
                    print("\(clock())  \(line)")
                }
                for group in told.keys.sorted() where now[group] == nil {
                    print("\(clock())  \(group): no lock screen shows it any more")
                }
                fflush(nil)
                told = now
            }
        }
    }

    /// Returns hour, minute and second in UTC.
    private static func clock() -> Substring { WallTime.now().rfc3339.dropFirst(11).prefix(8) }

    private static func lines(_ simulator: SimulatorService) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: simulator.groupScreens(limit: groupsMax).map {
                ($0.group, "\($0.group): the lock screens show \($0.summary)")
            })
    }
}
