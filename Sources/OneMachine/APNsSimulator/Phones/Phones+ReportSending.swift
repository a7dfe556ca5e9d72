internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords

/// Encoding and sending of the reports that wait in `outgoingReports`.
extension Phones {
    /// Limit on the reports of one batch.
    private static let batchMax = 1_000

    /// Passes to the sink as many reports as it can take, up to the limit of one tick. Reports of first
    /// launches come after the others.
    func sendReports(at time: Int64) {
        guard let sink else { return }
        var remainingReports = settings.reportsPerTick
        while !outgoingReports.isEmpty {
            let batchSize = min(sink.freeCapacity, Self.batchMax, remainingReports)
            guard batchSize > 0 else { return }
            let batch = takeReports(countMax: batchSize, at: time)
            if batch.isEmpty { return }
            remainingReports -= batch.count
            outgoingReports.recordSent(count: batch.count)
            sink.accept(batch)
        }
    }

    /// Removes the first waiting reports and encodes them. When none waits, the next phone opens the app for the
    /// first time, which makes new reports.
    private func takeReports(countMax: Int, at time: Int64) -> [Report] {
        var reports: [Report] = []
        while reports.count < countMax {
            if let pending = outgoingReports.next() {
                if let report = makeReport(from: pending) { reports.append(report) }
            } else if let number = outgoingReports.nextLaunchedPhone() {
                reportFirstLaunch(ofPhone: number, at: time)
            } else {
                break
            }
        }
        return reports
    }

    /// Returns the report, or nil if it is obsolete because its activity has gone.
    private func makeReport(from pending: OutgoingReports.PendingReport) -> Report? {
        let number = Int(pending.phone)
        var report = reportWithCommonFields(ofPhone: number, pending: pending)
        switch pending.kind {
        case .startToken:
            report.attributesType = startType(slot: Int(pending.index), ofPhone: number)
            report.token = String(
                decoding: startToken(slot: Int(pending.index), ofPhone: number).hex, as: UTF8.self)
        case .updateToken:
            let index = Int(pending.index)
            let isObsolete =
                activities[index].slotGeneration != pending.slotGeneration || activities[index].state == .free
            if isObsolete { return nil }
            addUpdateToken(ofActivity: index, to: &report)
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
        // Phones do not make these reports.
        case .heartbeat, .erase, .deadToken, .provenToken, .tokenTakenOver: break
        }
        return report
    }

    private func addUpdateToken(ofActivity index: Int, to report: inout Report) {
        let activity = activities[index]
        report.attributesType = type(of: activity).name
        report.activity = activityID(index: index, slotGeneration: activity.slotGeneration)
        report.group = groups[activity.group]
        report.token = String(decoding: updateToken(ofActivity: index).hex, as: UTF8.self)
    }

    /// Returns a report with the fields that every kind has.
    private func reportWithCommonFields(
        ofPhone number: Int, pending: OutgoingReports.PendingReport
    ) -> Report {
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

    /// Returns the activity type of a start token, or nil if the token starts every type.
    private func startType(slot: Int, ofPhone number: Int) -> String? {
        let app = apps[Int(phones[number].app)]
        return app.hasOneStartToken ? nil : app.types[slot].name
    }
}
