internal import CatalogRecords
package import JSON
package import Lifecycle
internal import Settings

/// The decision about a body of reports: which of them are stored. It checks each report, the rates of the caller, the
/// rate of each installation, and the quota of new installations. It does no I/O. Confined to one thread.
package struct ReportAdmission {
    private static let minuteMilliseconds = 60_000

    package enum Verdict {
        /// The body cannot be read.
        case unreadable(JSONError)
        /// The reports, as many as given, exceed a rate of the caller. None is stored.
        case limited(ExceededLimit, reportCount: Int)
        /// The reports that are stored, if any, and those that are refused.
        case checked(ValidatedReports)
    }

    private let validator: ReportValidator
    private let rates: CallerRates
    /// The rate of reports about each installation.
    private var installationLimiter: RateLimiter
    private var installationQuota: InstallationQuota

    package init(validator: ReportValidator, rates: CallerRates, limits: GatewayLimits, now: Instant) {
        self.validator = validator
        self.rates = rates
        installationLimiter = RateLimiter(
            countMax: limits.reportsPerInstallationAndMinuteMax, windowMilliseconds: Self.minuteMilliseconds,
            entriesMax: GatewayLimits.installationsCountedMax, now: now)
        installationQuota = InstallationQuota(
            perPeerAndHour: limits.newInstallationsPerPeerAndHourMax, now: now)
    }

    /// Decides about the body of one request.
    package mutating func decide(_ body: [UInt8], from caller: RequestCaller, at now: Instant) -> Verdict {
        var reports: ValidatedReports
        do {
            reports = try validator.validate(body, for: caller.app, role: caller.key.role)
        } catch {
            return .unreadable(error)
        }
        let reportCount = reports.acceptedCount + reports.refused.count
        if let exceeded = rates.chargeReports(of: caller, count: reportCount, at: now) {
            return .limited(exceeded, reportCount: reportCount)
        }
        limitInstallations(in: &reports, of: caller, at: now)
        return .checked(reports)
    }

    /// Refuses reports of installations that send too many, or that are too many at one address. These limits apply
    /// only to report keys, which phones have. A private address hides the phones behind it, so it has no quota.
    private mutating func limitInstallations(
        in reports: inout ValidatedReports, of caller: RequestCaller, at now: Instant
    ) {
        guard let peer = caller.countedPeer else { return }
        let isPublic = IPAddress(caller.address)?.isPublic ?? false
        let peerWithQuota = isPublic ? peer : nil
        reports.refuse { key in
            // The key of a report names the app and the installation.
            var hasher = Hasher()
            unsafe key.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
            return exceededLimit(of: hasher.finalize(), at: peerWithQuota, now: now)
        }
    }

    /// Charges a report to its installation, and the installation to its address.
    ///
    /// - Parameters:
    ///   - installation: The hash of the installation.
    ///   - peer: The network of the address, or nil if it has no quota.
    private mutating func exceededLimit(
        of installation: Int, at peer: String?, now: Instant
    ) -> ExceededLimit? {
        if let wait = installationLimiter.charge(to: installation, now: now) {
            return ExceededLimit(
                limit: .installationReports, countMax: installationLimiter.countMax, waitMilliseconds: wait)
        }
        return peer.flatMap { installationQuota.charge(installation: installation, at: $0, now: now) }
    }

    /// The number of installations whose rate is remembered.
    package var countedInstallations: Int { installationLimiter.entryCount }
}
