internal import Identifiers
internal import Jobs
internal import Members
internal import Sends

extension DayChecker {
    mutating func checkSend(number: Int) async throws {
        let app = DayGenerator.app(ofSend: number)
        let send = DayGenerator.sendID(number: number)
        let report = try await ask(.report, app: app, id: send)
        let counts = model.sends[.init(app: app, send: send)] ?? .init()
        compareOutcomes(of: send, in: report, with: counts)
        let expanded = counts.lanes.values.reduce(0) { $0 + $1.expanded }
        let ended = counts.outcomes.values.reduce(0) { $0 + $1.values.reduce(0, +) }
        if !counts.lanes.isEmpty {
            compare("\(send) to go", found: report["toGo"] as? Int, to: max(0, expanded - ended))
        }
        var systems: [String: Int] = [:]
        for tally in counts.lanes.values {
            for (system, count) in tally.jobsBySystem { systems[String(system), default: 0] += count }
        }
        compare("\(send) systems", found: report["systems"] as? [String: Int], to: systems)
        let bySystem = report["bySystem"] as? [String: [String: Int]]
        compare("\(send) by system", found: bySystem, to: counts.outcomesBySystem)
        let environments = report["environments"] as? [String: JSONAnswer] ?? [:]
        compare(
            "\(send) environments", found: Set(environments.keys),
            to: Set(counts.outcomes.keys.map(\.rawValue)))
        for (environment, ends) in counts.outcomes {
            for outcome in ReceiptOutcome.allCases where outcome.isFinal {
                let reported = environments[environment.rawValue]?[outcome.rawValue] as? Int
                compare("\(send) \(environment) \(outcome)", found: reported, to: ends[outcome.rawValue] ?? 0)
            }
        }
        // The taps of a group belong to a send until the next send of the group.
        guard let group = DayGenerator.groupID(ofSend: number), counts.isPlanned || !counts.outcomes.isEmpty
        else { return }
        let next = (number + 1..<DayGenerator.sendCount).first {
            DayGenerator.app(ofSend: $0) == app && DayGenerator.groupID(ofSend: $0) == group
                && model.sends[.init(app: app, send: DayGenerator.sendID(number: $0))]?.isPlanned == true
        }
        let from = day.acceptedAt(send: number)
        let to = next.map { day.acceptedAt(send: $0) } ?? .max
        let taps = model.taps[.init(app: app, name: group)] ?? []
        compare("\(send) opened", found: report["opened"] as? Int, to: taps.count { $0 >= from && $0 < to })
    }

    private mutating func compareOutcomes(
        of send: String, in report: JSONAnswer, with counts: DayModel.SendCounts
    ) {
        for outcome in ReceiptOutcome.allCases where outcome.isFinal {
            let count = counts.outcomes.values.reduce(0) { $0 + ($1[outcome.rawValue] ?? 0) }
            compare("\(send) \(outcome)", found: report[outcome.rawValue] as? Int, to: count)
        }
        compare("\(send) reasons", found: report["rejectedBy"] as? [String: Int], to: counts.rejectionReasons)
        let times = counts.latencies.sorted()
        guard !times.isEmpty else { return }
        let reported = report["latencyMilliseconds"] as? [String: Int] ?? [:]
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1)] {
            let exact = times[max(1, Int((Double(times.count) * share).rounded(.up))) - 1]
            let milliseconds = Int64(reported[name] ?? -1)
            compare(
                "\(send) \(name) \(milliseconds) of \(exact)",
                found: milliseconds >= exact && milliseconds * 8 <= exact * 9, to: true)
        }
    }

    mutating func checkSendList(of app: String) async throws {
        let rows = try await askForAll(
            .sends, app: app, list: "sends", parameters: dayRange.merging(["limit": "7"]) { $1 })
        let planned = (0..<DayGenerator.sendCount).filter {
            model.sends[.init(app: app, send: DayGenerator.sendID(number: $0))]?.isPlanned == true
        }
        compare(
            "sends of \(app)", found: rows.compactMap { $0["sendId"] as? String },
            to: planned.reversed().map(DayGenerator.sendID))
        for row in rows {
            let id = row["sendId"] as? String ?? ""
            let lanes = model.sends[.init(app: app, send: id)]?.lanes.values.map { $0 } ?? []
            compare(
                "\(id) targeted", found: row["targeted"] as? Int, to: lanes.reduce(0) { $0 + $1.targeted })
            compare(
                "\(id) expanded", found: row["expanded"] as? Int, to: lanes.reduce(0) { $0 + $1.expanded })
            compare("\(id) dropped", found: row["dropped"] as? Int, to: lanes.reduce(0) { $0 + $1.dropped })
            let excluded = row["excluded"] as? [String: Int] ?? [:]
            compare(
                "\(id) excluded", found: excluded["no_token"] ?? 0,
                to: lanes.reduce(0) { $0 + ($1.excludedByReason["no_token"] ?? 0) })
        }
    }

    mutating func checkGroups(of app: String) async throws {
        let rows = try await askForAll(
            .groups, app: app, list: "groups", parameters: ["state": "all", "limit": "6"])
        let own = model.groups.filter { $0.key.app == app }
        let expected = own.sorted { $0.value.lastSendAt > $1.value.lastSendAt }.map(\.key.name)
        compare("groups of \(app)", found: rows.compactMap { $0["groupId"] as? String }, to: expected)
        for name in 0..<DayGenerator.groupCount {
            let id = DayGenerator.groupID(number: name)
            let answer = try await ask(.group, app: app, id: id)
            guard let row = own[.init(app: app, name: id)] else {
                compare("\(id) of \(app) is unknown", found: answer["error"] != nil, to: true)
                continue
            }
            compare("\(id) version", found: answer["version"] as? Int64, to: row.version)
            compare("\(id) generation", found: answer["generation"] as? Int64, to: row.generation)
            compare("\(id) updates", found: answer["updates"] as? Int, to: row.updateCount)
            let isEnded = row.endVersion > 0 && row.endVersion >= row.generation
            compare("\(id) state", found: answer["state"] as? String, to: isEnded ? "ended" : "live")
            compare(
                "\(id) running", found: answer["running"] as? Int,
                to: model.runningCount(ofGroup: id, app: app))
            let sends = (0..<DayGenerator.sendCount).reversed().filter {
                DayGenerator.app(ofSend: $0) == app && DayGenerator.groupID(ofSend: $0) == id
                    && model.sends[.init(app: app, send: DayGenerator.sendID(number: $0))]?.isPlanned == true
            }
            if sends.isEmpty { continue }
            let versions = try await askForAll(
                .timeline, app: app, id: id, list: "versions", parameters: ["limit": "2"])
            compare(
                "\(id) timeline", found: versions.compactMap { $0["sendId"] as? String },
                to: sends.map(DayGenerator.sendID))
        }
    }
}
