internal import Members

// The questions about an app's events and its audit log.
extension DayChecker {
    /// Checks the counts of events per hour and per day, split by each dimension.
    mutating func checkCounts(of app: String) async throws {
        for (unit, hoursPerBucket) in [("hour", Int64(1)), ("day", 24)] {
            for split in ["code", "type", "group", "code,type,group"] {
                try await checkCounts(of: app, by: unit, hoursPerBucket: hoursPerBucket, split: split)
            }
        }
    }

    private mutating func checkCounts(
        of app: String, by unit: String, hoursPerBucket: Int64, split: String
    ) async throws {
        let dimensions = Set(split.split(separator: ",").map(String.init))
        let answer = try await ask(
            .eventCounts, app: app, parameters: dayRange.merging(["by": unit, "split": split]) { $1 })
        let hourMilliseconds: Int64 = 3_600_000
        var expectedCounts: [String: Int] = [:]
        var expectedTotals: [String: Int] = [:]
        for (key, count) in model.counts where key.app == app {
            let firstHour = key.hour - key.hour % hoursPerBucket
            let bucketKey = Self.bucketKey(
                at: firstHour * hourMilliseconds,
                code: dimensions.contains("code") ? key.code : nil,
                type: dimensions.contains("type") ? key.type : nil,
                group: dimensions.contains("group") ? key.group : nil)
            expectedCounts[bucketKey, default: 0] += count
            expectedTotals[key.code, default: 0] += count
        }
        var reportedCounts: [String: Int] = [:]
        for bucket in answer["buckets"] as? [JSONAnswer] ?? [] {
            let bucketKey = Self.bucketKey(
                at: bucket["at"] as? Int64 ?? 0, code: bucket["code"] as? String,
                type: bucket["type"] as? String, group: bucket["group"] as? String)
            reportedCounts[bucketKey, default: 0] += bucket["count"] as? Int ?? 0
        }
        compare("counts of \(app) by \(unit) and \(split)", found: reportedCounts, to: expectedCounts)
        compare("totals of \(app) by \(unit)", found: answer["totals"] as? [String: Int], to: expectedTotals)
    }

    /// Returns a text that is equal only for the same bucket, for example `1795204800000|tap||match-3`. A dimension
    /// that is not split is empty.
    private static func bucketKey(at: Int64, code: String?, type: String?, group: String?) -> String {
        [String(at), code ?? "", type ?? "", group ?? ""].joined(separator: "|")
    }

    /// Checks that the list has each event as often as the model, newest first.
    mutating func checkEvents(of app: String) async throws {
        let rows = try await askForAll(
            .events, app: app, list: "items", parameters: dayRange.merging(["limit": "5000"]) { $1 })
        let reported = rows.map(Self.text).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        compare("events of \(app) are equal", found: reported == model.events[app] ?? [:], to: true)
        compare(
            "number of events of \(app)", found: rows.count, to: model.events[app]?.values.reduce(0, +) ?? 0)
        let times = rows.map { $0["at"] as? Int64 ?? 0 }
        compare("\(app)'s events are newest first", found: times == times.sorted(by: >), to: true)
    }

    mutating func checkAudit(of app: String) async throws {
        let rows = try await askForAll(
            .audit, app: app, list: "items", parameters: dayRange.merging(["limit": "500"]) { $1 })
        let times = rows.map { $0["at"] as? Int64 ?? 0 }
        let expectedTimes = (model.audit[app] ?? []).sorted(by: >)
        compare("times of the audit of \(app) are equal", found: times == expectedTimes, to: true)
    }
}
