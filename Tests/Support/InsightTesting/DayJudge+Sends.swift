internal import LiveActivity

extension DayJudge {
    mutating func judgeSend(_ number: Int) async throws {
        let app = DayMix.app(ofSend: number)
        let send = DayMix.send(number)
        let report = try await ask(.report, app, id: send)
        let sums = model.sends[.init(app: app, send: send)] ?? .init()
        compareEnds(of: send, in: report, with: sums)
        let expanded = sums.lanes.values.reduce(0) { $0 + $1.expanded }
        let ended = sums.ends.values.reduce(0) { $0 + $1.values.reduce(0, +) }
        if !sums.lanes.isEmpty {
            compare("\(send) to go", report["toGo"] as? Int, to: max(0, expanded - ended))
        }
        var systems: [String: Int] = [:]
        for tally in sums.lanes.values {
            for (system, count) in tally.jobsBySystem { systems[String(system), default: 0] += count }
        }
        compare("\(send) systems", report["systems"] as? [String: Int], to: systems)
        let bySystem = report["bySystem"] as? [String: [String: Int]]
        compare("\(send) by system", bySystem, to: sums.systems)
        let environments = report["environments"] as? [String: Answer] ?? [:]
        compare("\(send) environments", Set(environments.keys), to: Set(sums.ends.keys.map(\.rawValue)))
        for (environment, ends) in sums.ends {
            for outcome in ReceiptOutcome.allCases where outcome.isFinal {
                let said = environments[environment.rawValue]?[outcome.rawValue] as? Int
                compare("\(send) \(environment) \(outcome)", said, to: ends[outcome.rawValue] ?? 0)
            }
        }
        // The taps of a group belong to a send until the next send of the group.
        guard let group = DayMix.group(ofSend: number), sums.isPlanned || !sums.ends.isEmpty else { return }
        let next = (number + 1..<DayMix.sends).first {
            DayMix.app(ofSend: $0) == app && DayMix.group(ofSend: $0) == group
                && model.sends[.init(app: app, send: DayMix.send($0))]?.isPlanned == true
        }
        let from = mix.acceptedAt(number)
        let to = next.map { mix.acceptedAt($0) } ?? .max
        let taps = model.taps[.init(app: app, name: group)] ?? []
        compare("\(send) opened", report["opened"] as? Int, to: taps.count { $0 >= from && $0 < to })
    }

    private mutating func compareEnds(of send: String, in report: Answer, with sums: DayModel.Sums) {
        for outcome in ReceiptOutcome.allCases where outcome.isFinal {
            let count = sums.ends.values.reduce(0) { $0 + ($1[outcome.rawValue] ?? 0) }
            compare("\(send) \(outcome)", report[outcome.rawValue] as? Int, to: count)
        }
        compare("\(send) reasons", report["rejectedBy"] as? [String: Int], to: sums.reasons)
        let times = sums.latencies.sorted()
        guard !times.isEmpty else { return }
        let said = report["latencyMilliseconds"] as? [String: Int] ?? [:]
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1)] {
            let exact = times[max(1, Int((Double(times.count) * share).rounded(.up))) - 1]
            let told = Int64(said[name] ?? -1)
            compare("\(send) \(name) \(told) of \(exact)", told >= exact && told * 8 <= exact * 9, to: true)
        }
    }

    mutating func judgeSendList(_ app: String) async throws {
        let rows = try await all(.sends, app, list: "sends", with: range.merging(["limit": "7"]) { $1 })
        let planned = (0..<DayMix.sends).filter {
            model.sends[.init(app: app, send: DayMix.send($0))]?.isPlanned == true
        }
        compare(
            "sends of \(app)", rows.compactMap { $0["sendId"] as? String },
            to: planned.reversed().map(DayMix.send))
        for row in rows {
            let id = row["sendId"] as? String ?? ""
            let lanes = model.sends[.init(app: app, send: id)]?.lanes.values.map { $0 } ?? []
            compare("\(id) targeted", row["targeted"] as? Int, to: lanes.reduce(0) { $0 + $1.targeted })
            compare("\(id) expanded", row["expanded"] as? Int, to: lanes.reduce(0) { $0 + $1.expanded })
            compare("\(id) dropped", row["dropped"] as? Int, to: lanes.reduce(0) { $0 + $1.dropped })
            let excluded = row["excluded"] as? [String: Int] ?? [:]
            compare(
                "\(id) excluded", excluded["no_token"] ?? 0,
                to: lanes.reduce(0) { $0 + ($1.excludedByReason["no_token"] ?? 0) })
        }
    }

    mutating func judgeGroups(_ app: String) async throws {
        let rows = try await all(.groups, app, list: "groups", with: ["state": "all", "limit": "6"])
        let own = model.groups.filter { $0.key.app == app }
        let wanted = own.sorted { $0.value.lastSendAt > $1.value.lastSendAt }.map(\.key.name)
        compare("groups of \(app)", rows.compactMap { $0["groupId"] as? String }, to: wanted)
        for name in 0..<DayMix.groups {
            let id = DayMix.group(name)
            let answer = try await ask(.group, app, id: id)
            guard let row = own[.init(app: app, name: id)] else {
                compare("\(id) of \(app) is unknown", answer["error"] != nil, to: true)
                continue
            }
            compare("\(id) version", answer["version"] as? Int64, to: row.version)
            compare("\(id) generation", answer["generation"] as? Int64, to: row.generation)
            compare("\(id) updates", answer["updates"] as? Int, to: row.updateCount)
            let isEnded = row.endVersion > 0 && row.endVersion >= row.generation
            compare("\(id) state", answer["state"] as? String, to: isEnded ? "ended" : "live")
            compare("\(id) running", answer["running"] as? Int, to: model.running(id, app: app))
            let sends = (0..<DayMix.sends).reversed().filter {
                DayMix.app(ofSend: $0) == app && DayMix.group(ofSend: $0) == id
                    && model.sends[.init(app: app, send: DayMix.send($0))]?.isPlanned == true
            }
            if sends.isEmpty { continue }
            let versions = try await all(.timeline, app, id: id, list: "versions", with: ["limit": "2"])
            compare(
                "\(id) timeline", versions.compactMap { $0["sendId"] as? String }, to: sends.map(DayMix.send))
        }
    }
}
