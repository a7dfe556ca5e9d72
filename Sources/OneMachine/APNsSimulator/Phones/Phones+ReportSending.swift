internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords

// Encoding and sending of the reports that wait in `outgoingReports`.

extension Phones {
    /// Limit on the reports of one batch.
    private static let batchMax = 1_000

    /// Passes to the sink as many reports as it can take, up to the limit of one tick. Reports of first
    /// launches come after the others.
    func sendReports(at time: Int64) {
        guard let sink else { return }
        var reportsLeft = settings.reportsPerTick
        while !outgoingReports.isEmpty {
            let batchSize = min(sink.freeCapacity, Self.batchMax, reportsLeft)
            guard batchSize > 0 else { return }
            var batch: [Report] = []
            while batch.count < batchSize {
                if let pending = outgoingReports.next() {
                    if let report = makeReport(from: pending) { batch.append(report) }
                } else if let number = outgoingReports.nextLaunchedPhone() {
                    reportFirstLaunch(ofPhone: number, at: time)
                } else {
                    break
                }
            }
            if batch.isEmpty { return }
            reportsLeft -= batch.count
            outgoingReports.recordSent(count: batch.count)
            sink.accept(batch)
        }
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
        case .heartbeat, .erase, .deadToken, .provenToken: break
        }
        return report
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
