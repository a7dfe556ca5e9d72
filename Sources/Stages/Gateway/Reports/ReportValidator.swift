package import CatalogRecords
internal import Identifiers
internal import InstallationRecords
package import JSON
internal import RecordFormat
package import Telemetry
package import TokenSealing

/// The check of a `POST /v1/reports` body: one report, or an array of them. It makes a record of each valid
/// report, and lists the problems of the others. It does no I/O. Confined to one thread.
///
/// The app comes only from the key. A body that is not JSON is refused as a whole. Otherwise each report is accepted
/// or refused alone. If there are sealing keys, the records hold sealed tokens.
///
/// A body is read once as a whole. If a report has a problem, the body is read again, one report after the other.
package final class ReportValidator {
    /// The reader of whole bodies. It stops at the first problem.
    private let bodyReader: JSONReader
    /// The reader of one report after the other, which lists all problems of a report.
    private let singleReportReader: JSONReader
    private let seal: TokenSeal
    private let userProofs: UserProofCheck
    private let now: () -> WallTime
    private var writer = JSONWriter(capacity: 4096)

    /// - Parameter now: Returns the time at which proofs of users must be valid.
    package init(sealingKeys keys: SealingKeys?, now: @escaping () -> WallTime = { .now() }) {
        self.now = now
        seal = TokenSeal(keys: keys)
        userProofs = UserProofCheck(seal: seal)
        bodyReader = Self.makeReader(problemsMax: 1)
        singleReportReader = Self.makeReader(problemsMax: GatewayLimits.problemsPerReportMax)
    }

    private static func makeReader(problemsMax: Int) -> JSONReader {
        JSONReader(
            limits: JSONLimits(
                bytesMax: GatewayLimits.reportsBodyBytesMax, depthMax: GatewayLimits.depthMax,
                keysMax: GatewayLimits.reportsFieldsMax, problemsMax: problemsMax))
    }

    /// Checks all reports of a body. Throws the problems of the body as a whole.
    package func validate(
        _ body: [UInt8], for app: App, role: APIKey.Role
    ) throws(JSONError) -> ValidatedReports {
        do {
            // Nearly always all reports are valid, so the first attempt reads the body once.
            return try bodyReader.read(body) { root in
                var validated = ValidatedReports()
                guard root.kind == .array else {
                    accept(root, at: 0, for: app, role: role, into: &validated)
                    return validated
                }
                var elements = elements(of: root)
                var index = 0
                while let element = elements.next() {
                    accept(element, at: index, for: app, role: role, into: &validated)
                    index += 1
                }
                return validated
            }
        } catch {
            return try validateOneByOne(body, for: app, role: role)
        }
    }

    /// Checks each report alone, so that a problem of one report does not hide the others.
    private func validateOneByOne(
        _ body: [UInt8], for app: App, role: APIKey.Role
    ) throws(JSONError) -> ValidatedReports {
        let reports = try bodyReader.read(body) { root in
            guard root.kind == .array else { return [unsafe Array(root.raw)] }
            return elements(of: root).map { unsafe Array($0.raw) }
        }
        var validated = ValidatedReports()
        for (index, report) in reports.enumerated() {
            do {
                let accepted = try singleReportReader.read(report) { value in
                    var single = ValidatedReports()
                    accept(value, at: index, for: app, role: role, into: &single)
                    return single
                }
                validated.append(accepted)
            } catch {
                validated.refused.append(
                    ValidatedReports.RefusedReport(index: index, problems: error.problems))
            }
        }
        return validated
    }

    /// Returns the reports of an array, and reports a problem if it has none or too many.
    private func elements(of root: JSONValue) -> JSONArray {
        let elements = root.array(countMax: GatewayLimits.reportsPerBodyMax)
        if elements.count == 0 { root.report("has no report; send at least one") }
        return elements
    }

    /// Adds the record of one report. If the report has problems, the reader notes them, and its `read` throws them
    /// instead of returning the records.
    ///
    /// - Parameter index: The report's index in the body. It orders the reports of one body, because their
    ///   records may all get the same timestamp from Kafka.
    private func accept(
        _ value: JSONValue, at index: Int, for app: App, role: APIKey.Role,
        into validated: inout ValidatedReports
    ) {
        let object = value.object()
        let version = object["v"].optional?.int(in: 1...Int(Int32.max)) ?? Report.schemaVersion
        if let writtenApp = object["app"].optional, writtenApp.string() != app.id {
            writtenApp.report("must be the app that the key belongs to, or be omitted")
        }
        var report = Report(app: app.id, from: object)
        checkFields(of: report, in: object, for: app, role: role)
        report.bodyPosition = index
        checkUser(of: report, in: object, for: app, role: role)
        // Gateways are updated one by one, so unknown fields of a newer SDK version are ignored. At this
        // gateway's own version an unknown field is a typing error.
        if version <= Report.schemaVersion { object.reportUnknownFields() }
        seal.seal(tokenOf: &report)
        report.encode(to: &writer)
        validated.accept(
            at: index, key: report.key, value: writer, tap: ValidatedReports.Tap(report: report))
    }

    /// Reports the fields that no client may set in this app, or with this key.
    private func checkFields(of report: Report, in object: JSONObject, for app: App, role: APIKey.Role) {
        if let environment = report.environment, !app.environments.contains(environment),
            let writtenEnvironment = object["environment"].optional
        {
            writtenEnvironment.report(
                "is not an environment of this app; add it with `flotilla apps update`")
        }
        if let system = report.os, let writtenSystem = object["os"].optional {
            let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
            let startsWithDigit = system.utf8.first.map { digits.contains($0) } ?? false
            if !startsWithDigit {
                writtenSystem.report(
                    "must be the version number alone, such as 18.1; report UIDevice.current.systemVersion")
            }
        }
        if !report.kind.isAllowedFromClients {
            object["kind"].report("is reserved for Flotilla's own senders")
        }
        if report.installation == nil, !role.includes(.send) {
            // The report key is in the app's binary. With it, anyone could write about every user.
            object["installationId"].report("can be omitted only with a key of the role send")
        }
        if report.isTokenSealed { object["token"].report(PushToken.formatProblem) }
        if let sequence = object["sequence"].optional {
            sequence.report("is set by the gateway; omit it")
        }
    }

    /// Checks the proof that a phone acts for the report's user (`UserProofCheck`).
    private func checkUser(of report: Report, in object: JSONObject, for app: App, role: APIKey.Role) {
        let proof = object["userProof"].optional?.string()
        guard let user = report.user else { return }
        let verdict = userProofs.verdict(
            on: user, of: report.installation, proof: proof, for: app, isTrusted: role.includes(.send),
            now: now())
        guard let problem = verdict.problem else { return }
        object[verdict == .missing ? "userId" : "userProof"].report(problem.message)
    }
}
