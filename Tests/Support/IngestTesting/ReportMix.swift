package import LiveActivity
internal import Simulation

/// Reports of the phones of one app, from a seed: new and repeated tokens, activities that start and end, and
/// people who log in and out.
package struct ReportMix {
    /// The shares out of 100.
    package static let shares =
        "40 start tokens (3 of 4 repeated), 25 update tokens, 10 states, 8 profiles, 7 heartbeats, 4 taps, 3 lists of running activities, 3 unregistered"
    package static let groups = 50
    package let installations: Int
    private var generator: SeededGenerator
    private let seed: UInt64

    package init(installations: Int, seed: UInt64) {
        self.installations = installations
        self.seed = seed
        generator = SeededGenerator(seed)
    }

    package mutating func next() -> Report {
        let number = generator.below(installations)
        let id = "phone-\(number)"
        let dice = generator.below(100)
        func report(_ kind: Report.Kind) -> Report {
            var report = Report(app: IngestBed.app.id, environment: .production, installation: id, kind: kind)
            report.os = "18.2"
            report.appBuild = "412"
            return report
        }
        switch dice {
        case 0..<40:
            var report = report(.startToken)
            report.attributesType = dice < 30 ? "MatchAttributes" : "OrderAttributes"
            report.token = token(number, kind: dice < 30 ? 1 : 2, version: generator.below(4) / 3)
            report.frequentPushesEnabled = true
            return report
        case 40..<65:
            var report = report(.updateToken)
            report.attributesType = "MatchAttributes"
            let activity = generator.below(3)
            report.activity = "activity-\(number)-\(activity)"
            report.group = "match-\(generator.below(Self.groups))"
            report.token = token(number, kind: 3 + activity, version: generator.below(2))
            return report
        case 65..<75:
            var report = report(.state)
            report.activity = "activity-\(number)-\(generator.below(3))"
            report.state = [.active, .stale, .ended, .dismissed][generator.below(4)]
            return report
        case 75..<83:
            var report = report(.profile)
            report.tags = ["team-\(generator.below(20))"]
            if generator.below(3) == 0 { report.user = "user-\(generator.below(installations))" }
            report.isLoggedOut = report.user == nil && generator.below(3) == 0
            return report
        case 83..<90: return report(.heartbeat)
        case 90..<94:
            var report = report(.tap)
            report.activity = "activity-\(number)-\(generator.below(3))"
            return report
        case 94..<97:
            var report = report(.reconcile)
            report.runningActivities = ["activity-\(number)-\(generator.below(3))"]
            return report
        default:
            var report = report(.unregister)
            report.attributesType = "OrderAttributes"
            return report
        }
    }

    private func token(_ installation: Int, kind: Int, version: Int) -> String {
        var bytes = SeededGenerator(seed ^ UInt64(installation) << 16 ^ UInt64(kind) << 8 ^ UInt64(version))
        return String(decoding: Hex.encode(bytes.bytes(32...32)), as: UTF8.self)
    }
}
