internal import LiveActivity

extension DayJudge {
    mutating func judgeCounts(_ app: String) async throws {
        for (by, hours) in [("hour", Int64(1)), ("day", 24)] {
            for split in ["code", "type", "group", "code,type,group"] {
                let parts = Set(split.split(separator: ",").map(String.init))
                let answer = try await ask(
                    .eventCounts, app, with: range.merging(["by": by, "split": split]) { $1 })
                var wanted: [String: Int] = [:]
                var totals: [String: Int] = [:]
                for (key, count) in model.counts where key.app == app {
                    let bucket = Self.bucket(
                        at: (key.hour - key.hour % hours) * 3_600_000,
                        code: parts.contains("code") ? key.code : nil,
                        type: parts.contains("type") ? key.type : nil,
                        group: parts.contains("group") ? key.group : nil)
                    wanted[bucket, default: 0] += count
                    totals[key.code, default: 0] += count
                }
                var said: [String: Int] = [:]
                for bucket in answer["buckets"] as? [Answer] ?? [] {
                    let text = Self.bucket(
                        at: bucket["at"] as? Int64 ?? 0, code: bucket["code"] as? String,
                        type: bucket["type"] as? String,
                        group: bucket["group"] as? String)
                    said[text, default: 0] += bucket["count"] as? Int ?? 0
                }
                compare("counts of \(app) by \(by) and \(split)", said, to: wanted)
                compare("totals of \(app) by \(by)", answer["totals"] as? [String: Int], to: totals)
            }
        }
    }

    private static func bucket(at: Int64, code: String?, type: String?, group: String?) -> String {
        [String(at), code ?? "", type ?? "", group ?? ""].joined(separator: "|")
    }

    mutating func judgeEvents(_ app: String) async throws {
        let rows = try await all(.events, app, list: "events", with: range.merging(["limit": "5000"]) { $1 })
        let told = rows.map(Self.text).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        compare("events of \(app)", told == model.events[app] ?? [:], to: true)
        compare("how many events of \(app)", rows.count, to: model.events[app]?.values.reduce(0, +) ?? 0)
        let times = rows.map { $0["at"] as? Int64 ?? 0 }
        compare("order of \(app)'s events", times == times.sorted(by: >), to: true)
    }

    mutating func judgeAudit(_ app: String) async throws {
        let rows = try await all(.audit, app, list: "entries", with: range.merging(["limit": "500"]) { $1 })
        let wanted = (model.audit[app] ?? []).sorted(by: >)
        compare("audit of \(app)", rows.map { $0["at"] as? Int64 ?? 0 } == wanted, to: true)
    }
}
