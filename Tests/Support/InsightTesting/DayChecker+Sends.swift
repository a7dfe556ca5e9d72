internal import Identifiers
internal import Jobs
internal import Members
internal import Sends

// The questions about sends and groups.
extension DayChecker {
    /// Checks the report about one send.
    mutating func checkSend(number: Int) async throws {
        let app = DayGenerator.app(ofSend: number)
        let send = DayGenerator.sendID(number: number)
        let report = try await ask(.report, app: app, id: send)
        let counts = model.sends[.init(app: app, send: send)] ?? .init()
        compareOutcomes(of: send, in: report, with: counts)
        let expandedJobs = counts.lanes.values.reduce(0) { $0 + $1.expanded }
        let finishedJobs = counts.outcomes.values.reduce(0) { $0 + $1.values.reduce(0, +) }
        if !counts.lanes.isEmpty {
            compare("\(send) to go", found: report["toGo"] as? Int, to: max(0, expandedJobs - finishedJobs))
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
        for (environment, outcomeCounts) in counts.outcomes {
            for outcome in ReceiptOutcome.allCases where outcome.isFinal {
                let reported = environments[environment.rawValue]?[outcome.rawValue] as? Int
                compare(
                    "\(send) \(environment) \(outcome)", found: reported,
                    to: outcomeCounts[outcome.rawValue] ?? 0)
            }
        }
        let isKnown = counts.isPlanned || !counts.outcomes.isEmpty
        guard isKnown, let group = DayGenerator.groupID(ofSend: number) else { return }
        compareTaps(ofSend: number, in: group, of: app, report: report)
    }

    /// Compares the taps of a send. The taps of a group belong to a send until the next planned send of the group.
    private mutating func compareTaps(
        ofSend number: Int, in group: String, of app: String, report: JSONAnswer
    ) {
        let nextSend = (number + 1..<DayGenerator.sendCount).first {
            isPlannedSend(number: $0, of: app, in: group)
        }
        let start = day.acceptedAt(send: number)
        let end = nextSend.map { day.acceptedAt(send: $0) } ?? .max
        let taps = model.taps[.init(app: app, name: group)] ?? []
        compare(
            "\(DayGenerator.sendID(number: number)) opened", found: report["opened"] as? Int,
            to: taps.count { $0 >= start && $0 < end })
    }

    /// Whether the send is one of the app and the group, and planned.
    private func isPlannedSend(number: Int, of app: String, in group: String) -> Bool {
        DayGenerator.app(ofSend: number) == app && DayGenerator.groupID(ofSend: number) == group
            && model.sends[.init(app: app, send: DayGenerator.sendID(number: number))]?.isPlanned == true
    }

    private mutating func compareOutcomes(
        of send: String, in report: JSONAnswer, with counts: DayModel.SendCounts
    ) {
        for outcome in ReceiptOutcome.allCases where outcome.isFinal {
            let count = counts.outcomes.values.reduce(0) { $0 + ($1[outcome.rawValue] ?? 0) }
            compare("\(send) \(outcome)", found: report[outcome.rawValue] as? Int, to: count)
        }
        compare("\(send) reasons", found: report["rejectedBy"] as? [String: Int], to: counts.rejectionReasons)
        compareLatencies(of: send, in: report, with: counts.latencies.sorted())
    }

    /// Compares the quantiles of latencies, which insight reports up to an eighth too large.
    private mutating func compareLatencies(of send: String, in report: JSONAnswer, with sorted: [Int64]) {
        guard !sorted.isEmpty else { return }
        let reported = report["latencyMilliseconds"] as? [String: Int] ?? [:]
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1)] {
            let rank = max(1, Int((Double(sorted.count) * share).rounded(.up)))
            let exact = sorted[rank - 1]
            guard let milliseconds = reported[name].map({ Int64($0) }) else {
                compare("\(send) has \(name)", found: false, to: true)
                continue
            }
            let isWithinAnEighth = milliseconds >= exact && milliseconds * 8 <= exact * 9
            compare("\(send) \(name) \(milliseconds) of \(exact)", found: isWithinAnEighth, to: true)
        }
    }

    /// Checks the list of an app's planned sends, newest first, in small pages.
    mutating func checkSendList(of app: String) async throws {
        let rows = try await askForAll(
            .sends, app: app, list: "items", parameters: dayRange.merging(["limit": "7"]) { $1 })
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

    /// Checks the list of an app's groups, newest send first, and the answer about each group.
    mutating func checkGroups(of app: String) async throws {
        let rows = try await askForAll(
            .groups, app: app, list: "items", parameters: ["state": "all", "limit": "6"])
        let groups = model.groups.filter { $0.key.app == app }
        let newestFirst = groups.sorted { $0.value.lastSendAt > $1.value.lastSendAt }.map(\.key.name)
        compare("groups of \(app)", found: rows.compactMap { $0["groupId"] as? String }, to: newestFirst)
        for number in 0..<DayGenerator.groupCount {
            let id = DayGenerator.groupID(number: number)
            let answer = try await ask(.group, app: app, id: id)
            guard let row = groups[.init(app: app, name: id)] else {
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
            try await checkTimeline(ofGroup: id, app: app)
        }
    }

    private mutating func checkTimeline(ofGroup group: String, app: String) async throws {
        let newestFirst = (0..<DayGenerator.sendCount).reversed().filter {
            isPlannedSend(number: $0, of: app, in: group)
        }
        if newestFirst.isEmpty { return }
        let versions = try await askForAll(
            .timeline, app: app, id: group, list: "items", parameters: ["limit": "2"])
        compare(
            "\(group) timeline", found: versions.compactMap { $0["sendId"] as? String },
            to: newestFirst.map(DayGenerator.sendID))
    }
}
