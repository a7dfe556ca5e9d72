internal import LiveActivity

// Reports from the apps on phones to their server.

extension Phones {
    /// Limit on the reports of one batch.
    private static let batchMax = 1_000

    // MARK: Events

    func report(_ kind: Report.Kind, fromPhone number: Int, index: Int = 0, at time: Int64) {
        guard sink != nil else { return }
        let life = kind == .updateToken || kind == .tap ? activities[index].slotGeneration : 0
        outgoing.append(
            .init(
                kind: kind, phone: Int32(number), index: Int32(index), slotGeneration: life, eventTime: time),
            countMax: settings.reportsWaitingMax)
    }

    func reportToken(ofActivity index: Int, at time: Int64) {
        activities[index].hasUnreportedToken = false
        if !activities[index].isTokenReported { activities[index].tokenRegisteredAt = time }
        activities[index].isTokenReported = true
        report(.updateToken, fromPhone: Int(activities[index].phone), index: index, at: time)
    }

    /// Reports a state change of an activity, as the app sees it.
    func reportState(_ state: Report.ActivityState, ofActivity index: Int, at time: Int64) {
        let activity = activities[index]
        let number = Int(activity.phone)
        let occurrence =
            UInt64(index) << 20 | UInt64(activity.slotGeneration) << 4 | UInt64(Self.order(of: state))
        guard
            stableRandom.happens(
                withProbability: settings.stateReportShare, for: .stateReport, ofPhone: number,
                occurrence: occurrence)
        else {
            return
        }
        guard phones[number].canReport else {
            phones[number].traits.insert(.needsReconcile)
            return
        }
        guard sink != nil else { return }
        outgoing.append(
            .init(
                kind: .state, state: state, phone: Int32(number), index: Int32(index),
                slotGeneration: activity.slotGeneration,
                eventTime: time), countMax: settings.reportsWaitingMax)
    }

    private static func order(of state: Report.ActivityState) -> Int {
        Report.ActivityState.allCases.firstIndex(of: state) ?? 0
    }

    /// Sends the reports that were withheld while the app could not report.
    func sendWithheldReports(ofPhone number: Int, at time: Int64) {
        guard phones[number].canReport else { return }
        if phones[number].traits.contains(.needsLaunchReport) {
            phones[number].traits.remove(.needsLaunchReport)
            reportFirstLaunch(ofPhone: number, at: time)
        }
        for index in activityIndices(ofPhone: number) where activities[index].hasUnreportedToken {
            reportToken(ofActivity: index, at: time)
        }
        if phones[number].traits.contains(.needsReconcile) {
            phones[number].traits.remove(.needsReconcile)
            reportStartTokens(ofPhone: number, at: time)
            report(.reconcile, fromPhone: number, at: time)
        }
    }

    /// Reports the first launch of the app: its profile and its start tokens.
    func reportFirstLaunch(ofPhone number: Int, at time: Int64) {
        guard phones[number].canReport else {
            phones[number].traits.insert(.needsLaunchReport)
            return
        }
        report(.profile, fromPhone: number, at: time)
        reportStartTokens(ofPhone: number, at: time)
    }

    /// Reports all start tokens. A repeated report only confirms that the token is valid.
    private func reportStartTokens(ofPhone number: Int, at time: Int64) {
        guard phones[number].system >= .pushToStart else { return }
        for slot in 0..<startTokenCount(of: apps[Int(phones[number].app)]) {
            report(.startToken, fromPhone: number, index: slot, at: time)
        }
    }

    // MARK: Sending

    /// Passes to the sink as many reports as it can take: events first, then first launches.
    func sendReports(at time: Int64) {
        guard let sink else { return }
        var left = settings.reportsPerTurn
        while !outgoing.isEmpty {
            let wanted = min(sink.freeCapacity, Self.batchMax, left)
            guard wanted > 0 else { return }
            var batch: [Report] = []
            while batch.count < wanted {
                if let pending = outgoing.next() {
                    if let report = makeReport(from: pending) { batch.append(report) }
                } else if let number = outgoing.nextLaunchedPhone() {
                    reportFirstLaunch(ofPhone: number, at: time)
                } else {
                    break
                }
            }
            if batch.isEmpty { return }
            left -= batch.count
            outgoing.recordSent(count: batch.count)
            sink.accept(batch)
        }
    }

    /// Returns the report, or nil if it is obsolete because its activity has gone.
    private func makeReport(from pending: OutgoingReports.PendingReport) -> Report? {
        let number = Int(pending.phone)
        var report = self.commonReport(ofPhone: number, pending: pending)
        switch pending.kind {
        case .startToken:
            report.attributesType = startType(slot: Int(pending.index), ofPhone: number)
            report.token = String(
                decoding: startToken(slot: Int(pending.index), ofPhone: number).hex, as: UTF8.self)
        case .updateToken:
            let index = Int(pending.index)
            let activity = activities[index]
            guard activity.slotGeneration == pending.slotGeneration, activity.state != .free else {
                return nil
            }
            report.attributesType = type(of: activity).name
            report.activity = activityID(index: index, slotGeneration: activity.slotGeneration)
            report.group = groups[activity.group]
            report.token = String(decoding: updateToken(ofActivity: index).hex, as: UTF8.self)
        case .state:
            report.activity = activityID(index: Int(pending.index), slotGeneration: pending.slotGeneration)
            report.state = pending.state
        case .reconcile:
            report.runningActivities = activityIndices(ofPhone: number).filter { activities[$0].isRunning }
                .prefix(Report.runningActivitiesMax).map {
                    activityID(index: $0, slotGeneration: activities[$0].slotGeneration)
                }
        case .unregister: report.attributesType = startType(slot: Int(pending.index), ofPhone: number)
        case .profile:
            report.tags = tags(ofPhone: number)
            report.locale = locale(ofPhone: number)
        case .tap:
            report.activity = activityID(index: Int(pending.index), slotGeneration: pending.slotGeneration)
        case .heartbeat, .erase, .deadToken: break
        }
        return report
    }

    private func commonReport(ofPhone number: Int, pending: OutgoingReports.PendingReport) -> Report {
        let phone = phones[number]
        var report = Report(
            app: apps[Int(phone.app)].id, environment: environment(of: phone),
            installation: names.installation(ofPhone: number), kind: pending.kind)
        report.user = names.user(ofPhone: number, phone: phone)
        report.os = phone.system.description
        report.appBuild = apps[Int(phone.app)].build
        report.frequentPushesEnabled = phone.traits.contains(.frequentUpdates)
        report.activitiesEnabled = !phone.traits.contains(.switchedOff)
        report.eventTime = pending.eventTime
        return report
    }

    private func startType(slot: Int, ofPhone number: Int) -> String? {
        let app = apps[Int(phones[number].app)]
        return app.hasOneStartToken ? nil : app.types[slot].name
    }

    /// Returns the activity's id in the form of the system's `activity.id`. It is unique forever.
    func activityID(index: Int, slotGeneration life: UInt16) -> String {
        let occurrence = UInt64(processNumber) << 48 | UInt64(index) << 16 | UInt64(life)
        let high = stableRandom.number(
            for: StableRandom.RandomPurpose.activityID.rawValue, and: occurrence, with: 0)
        let low = stableRandom.number(
            for: StableRandom.RandomPurpose.activityID.rawValue, and: occurrence, with: 1)
        let digits = [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
        let hex = String(decoding: Hex.encode(digits), as: UTF8.self).uppercased()
        var out = ""
        for (index, digit) in hex.enumerated() {
            if [8, 12, 16, 20].contains(index) { out.append("-") }
            out.append(digit)
        }
        return out
    }
}
