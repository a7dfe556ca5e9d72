internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords

/// The reports that apps make to their server. They wait in `outgoingReports`, and `Phones+ReportSending` sends them.
extension Phones {
    /// Enqueues a report.
    /// - Parameter index: the slot of a start token, or the index of an activity.
    func report(_ kind: Report.Kind, fromPhone number: Int, index: Int = 0, at time: Int64) {
        guard sink != nil else { return }
        let isAboutActivity = kind == .updateToken || kind == .tap
        outgoingReports.append(
            .init(
                kind: kind, phone: Int32(number), index: Int32(index),
                slotGeneration: isAboutActivity ? activities[index].slotGeneration : 0, eventTime: time),
            countMax: settings.reportsWaitingMax)
    }

    /// Reports an activity's update token.
    func reportToken(ofActivity index: Int, at time: Int64) {
        activities[index].hasUnreportedToken = false
        if !activities[index].isTokenReported { activities[index].tokenRegisteredAt = time }
        activities[index].isTokenReported = true
        report(.updateToken, fromPhone: Int(activities[index].phone), index: index, at: time)
    }

    /// Reports a state change of an activity, for the share of changes that the settings give. An app that
    /// cannot report now sends a reconcile report later.
    func reportState(_ state: Report.ActivityState, ofActivity index: Int, at time: Int64) {
        let activity = activities[index]
        let number = Int(activity.phone)
        // A number that no other state change has, so that each has its own random choice: the index, 16 bits for
        // the generation, and 4 bits for the state.
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
            phones[number].traits.insert(.owesReconcileReport)
            return
        }
        guard sink != nil else { return }
        outgoingReports.append(
            .init(
                kind: .state, state: state, phone: Int32(number), index: Int32(index),
                slotGeneration: activity.slotGeneration, eventTime: time),
            countMax: settings.reportsWaitingMax)
    }

    /// Returns the position of the state in the enumeration.
    private static func order(of state: Report.ActivityState) -> Int {
        Report.ActivityState.allCases.firstIndex(of: state) ?? 0
    }

    /// Sends the reports that were withheld while the app could not report.
    func sendWithheldReports(ofPhone number: Int, at time: Int64) {
        guard phones[number].canReport else { return }
        if phones[number].traits.contains(.owesLaunchReport) {
            phones[number].traits.remove(.owesLaunchReport)
            reportFirstLaunch(ofPhone: number, at: time)
        }
        for index in activityIndices(ofPhone: number) where activities[index].hasUnreportedToken {
            reportToken(ofActivity: index, at: time)
        }
        if phones[number].traits.contains(.owesReconcileReport) {
            phones[number].traits.remove(.owesReconcileReport)
            reportStartTokens(ofPhone: number, at: time)
            report(.reconcile, fromPhone: number, at: time)
        }
    }

    /// Reports the first launch of the app: its profile and its start tokens.
    func reportFirstLaunch(ofPhone number: Int, at time: Int64) {
        guard phones[number].canReport else {
            phones[number].traits.insert(.owesLaunchReport)
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
}
