internal import Members

extension DayChecker {
    mutating func checkCounts(of app: String) async throws {
        for (by, hours) in [("hour", Int64(1)), ("day", 24)] {
            for split in ["code", "type", "group", "code,type,group"] {
                let parts = Set(split.split(separator: ",").map(String.init))
                let answer = try await ask(
                    .eventCounts, app: app, parameters: dayRange.merging(["by": by, "split": split]) { $1 })
                var expected: [String: Int] = [:]
                var totals: [String: Int] = [:]
                for (key, count) in model.counts where key.app == app {
                    let bucket = Self.bucket(
                        at: (key.hour - key.hour % hours) * 3_600_000,
                        code: parts.contains("code") ? key.code : nil,
                        type: parts.contains("type") ? key.type : nil,
                        group: parts.contains("group") ? key.group : nil)
                    expected[bucket, default: 0] += count
                    totals[key.code, default: 0] += count
                }
                var reported: [String: Int] = [:]
                for bucket in answer["buckets"] as? [JSONAnswer] ?? [] {
                    let text = Self.bucket(
                        at: bucket["at"] as? Int64 ?? 0, code: bucket["code"] as? String,
                        type: bucket["type"] as? String,
                        group: bucket["group"] as? String)
                    reported[text, default: 0] += bucket["count"] as? Int ?? 0
                }
                compare("counts of \(app) by \(by) and \(split)", found: reported, to: expected)
                compare("totals of \(app) by \(by)", found: answer["totals"] as? [String: Int], to: totals)
            }
        }
    }

    private static func bucket(at: Int64, code: String?, type: String?, group: String?) -> String {
        [String(at), code ?? "", type ?? "", group ?? ""].joined(separator: "|")
    }

    mutating func checkEvents(of app: String) async throws {
        let rows = try await askForAll(
            .events, app: app, list: "events", parameters: dayRange.merging(["limit": "5000"]) { $1 })
        let reported = rows.map(Self.text).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        compare("events of \(app)", found: reported == model.events[app] ?? [:], to: true)
        compare(
            "how many events of \(app)", found: rows.count, to: model.events[app]?.values.reduce(0, +) ?? 0)
        let times = rows.map { $0["at"] as? Int64 ?? 0 }
        compare("order of \(app)'s events", found: times == times.sorted(by: >), to: true)
    }

    mutating func checkAudit(of app: String) async throws {
        let rows = try await askForAll(
            .audit, app: app, list: "entries", parameters: dayRange.merging(["limit": "500"]) { $1 })
        let expected = (model.audit[app] ?? []).sorted(by: >)
        compare("audit of \(app)", found: rows.map { $0["at"] as? Int64 ?? 0 } == expected, to: true)
    }
}
