internal import APNsSimulator
internal import Glibc
internal import Telemetry

/// A task that prints a line for a group each time the lock screens of the simulated phones change.
enum LockScreenMonitor {
    private static let pollMilliseconds = 500
    /// The limit on groups that are watched.
    private static let groupsMax = 100

    static func start(on simulator: SimulatorService) -> Task<Void, Never> {
        Task {
            var printedLines = linesByGroup(of: simulator)
            // A cancelled task's sleep throws.
            while (try? await Task.sleep(for: .milliseconds(pollMilliseconds))) != nil {
                let currentLines = linesByGroup(of: simulator)
                for (group, line) in currentLines.sorted(by: { $0.key < $1.key })
                where printedLines[group] != line {
                    print("\(timeOfDay())  \(line)")
                }
                for group in printedLines.keys.sorted() where currentLines[group] == nil {
                    print("\(timeOfDay())  \(group): no lock screen shows it any more")
                }
                fflush(nil)
                printedLines = currentLines
            }
        }
    }

    /// Returns hour, minute and second in UTC: `20:00:00` of `2026-11-20T20:00:00.000Z`.
    private static func timeOfDay() -> Substring {
        WallTime.now().rfc3339.dropFirst("2026-11-20T".count).prefix("20:00:00".count)
    }

    private static func linesByGroup(of simulator: SimulatorService) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: simulator.groupScreens(limit: groupsMax).map {
                ($0.group, "\($0.group): the lock screens show \($0.summary)")
            })
    }
}
