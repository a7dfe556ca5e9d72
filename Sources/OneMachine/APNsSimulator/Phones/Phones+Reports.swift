internal import LiveActivity

// Reports from the apps on phones to their server.

extension Phones {
    /// Limit on the reports of one batch.
    private static let batchMax = 1_000

    // MARK: Events

    func report(_ kind: Report.Kind, _ number: Int, index: Int = 0, at time: Int64) {
        guard sink != nil else { return }
        let life = kind == .updateToken || kind == .tap ? activities[index].life : 0
        outgoing.add(
            .init(kind: kind, phone: Int32(number), index: Int32(index), life: life, at: time),
            max: settings.reportsWaitingMax)
    }

    func reportToken(_ index: Int, at time: Int64) {
        activities[index].owesToken = false
        if !activities[index].isTokenReported { activities[index].tokenRegisteredAt = time }
        activities[index].isTokenReported = true
        report(.updateToken, Int(activities[index].phone), index: index, at: time)
    }

    /// Reports a state change of an activity, as the app sees it.
    func tell(_ state: Report.State, _ index: Int, at time: Int64) {
        let activity = activities[index]
        let number = Int(activity.phone)
        let occurrence = UInt64(index) << 20 | UInt64(activity.life) << 4 | UInt64(Self.order(state))
        guard
            mixing.falls(
                within: settings.stateReportShare, for: .stateReport, of: number, occurrence: occurrence)
        else {
            return
        }
        guard phones[number].canReport else {
            phones[number].traits.insert(.owesReconcile)
            return
        }
        guard sink != nil else { return }
        outgoing.add(
            .init(
                kind: .state, state: state, phone: Int32(number), index: Int32(index), life: activity.life,
                at: time), max: settings.reportsWaitingMax)
    }

    private static func order(_ state: Report.State) -> Int {
        Report.State.allCases.firstIndex(of: state) ?? 0
    }

    /// Sends the reports that were withheld while the app could not report.
    func reportWhatIsOwed(_ number: Int, at time: Int64) {
        guard phones[number].canReport else { return }
        if phones[number].traits.contains(.owesLaunch) {
            phones[number].traits.remove(.owesLaunch)
            reportFirstLaunch(number, at: time)
        }
        for index in indices(of: number) where activities[index].owesToken { reportToken(index, at: time) }
        if phones[number].traits.contains(.owesReconcile) {
            phones[number].traits.remove(.owesReconcile)
            reportStartTokens(of: number, at: time)
            report(.reconcile, number, at: time)
        }
    }

    /// Reports the first launch of the app: its profile and its start tokens.
    func reportFirstLaunch(_ number: Int, at time: Int64) {
        guard phones[number].canReport else {
            phones[number].traits.insert(.owesLaunch)
            return
        }
        report(.profile, number, at: time)
        reportStartTokens(of: number, at: time)
    }

    /// Reports all start tokens. A repeated report only confirms that the token is valid.
    private func reportStartTokens(of number: Int, at time: Int64) {
        guard phones[number].system >= .pushToStart else { return }
        for slot in 0..<startTokenCount(apps[Int(phones[number].app)]) {
            report(.startToken, number, index: slot, at: time)
        }
    }

    // MARK: Sending

    /// Passes to the sink as many reports as it can take: events first, then first launches.
    func sendReports(at time: Int64) {
        guard let sink else { return }
        var left = settings.reportsPerTurn
        while !outgoing.isEmpty {
            let wanted = min(sink.room, Self.batchMax, left)
            guard wanted > 0 else { return }
            var batch: [Report] = []
            while batch.count < wanted {
                if let pending = outgoing.next() {
                    if let report = written(pending) { batch.append(report) }
                } else if let number = outgoing.nextLaunch() {
                    reportFirstLaunch(number, at: time)
                } else {
                    break
                }
            }
            if batch.isEmpty { return }
            left -= batch.count
            outgoing.left(batch.count)
            sink.take(batch)
        }
    }

    /// Returns the report, or nil if it is obsolete because its activity has gone.
    private func written(_ pending: OutgoingReports.Pending) -> Report? {
        let number = Int(pending.phone)
        var report = self.report(about: number, pending)
        switch pending.kind {
        case .startToken:
            report.attributesType = startType(Int(pending.index), of: number)
            report.token = String(decoding: startToken(Int(pending.index), of: number).hex, as: UTF8.self)
        case .updateToken:
            let index = Int(pending.index)
            let activity = activities[index]
            guard activity.life == pending.life, activity.state != .free else { return nil }
            report.attributesType = type(of: activity).name
            report.activity = activityID(index, activity.life)
            report.group = groups[activity.group]
            report.token = String(decoding: updateToken(of: index).hex, as: UTF8.self)
        case .state:
            report.activity = activityID(Int(pending.index), pending.life)
            report.state = pending.state
        case .reconcile:
            report.running = indices(of: number).filter { activities[$0].isRunning }
                .prefix(Report.runningMax).map { activityID($0, activities[$0].life) }
        case .unregister: report.attributesType = startType(Int(pending.index), of: number)
        case .profile:
            report.tags = tags(of: number)
            report.locale = locale(of: number)
        case .tap: report.activity = activityID(Int(pending.index), pending.life)
        case .heartbeat, .erase, .deadToken: break
        }
        return report
    }

    private func report(about number: Int, _ pending: OutgoingReports.Pending) -> Report {
        let phone = phones[number]
        var report = Report(
            app: apps[Int(phone.app)].id, environment: environment(of: phone),
            installation: names.installation(number), kind: pending.kind)
        report.user = names.user(number, phone)
        report.os = phone.system.description
        report.appBuild = apps[Int(phone.app)].build
        report.frequentPushesEnabled = phone.traits.contains(.frequentUpdates)
        report.activitiesEnabled = !phone.traits.contains(.switchedOff)
        report.eventTime = pending.at
        return report
    }

    private func startType(_ slot: Int, of number: Int) -> String? {
        let app = apps[Int(phones[number].app)]
        return app.hasOneStartToken ? nil : app.types[slot].name
    }

    /// Returns the activity's id in the form of the system's `activity.id`. It is unique forever.
    func activityID(_ index: Int, _ life: UInt16) -> String {
        let occurrence = UInt64(run) << 48 | UInt64(index) << 16 | UInt64(life)
        let high = mixing.number(Mixing.Purpose.activityID.rawValue, and: occurrence, with: 0)
        let low = mixing.number(Mixing.Purpose.activityID.rawValue, and: occurrence, with: 1)
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
