package import JSON
package import LiveActivity

/// The reader of a `POST /v1/reports` body: one report, or an array of them. It does no I/O.
///
/// The app comes only from the key. A body that is not JSON is refused as a whole. Otherwise each report is
/// accepted
/// or refused alone. If there are sealing keys, tokens leave the reader sealed. Confined to one thread.
package final class ReportValidator {
    private let reader: JSONReader
    private let singleReportReader: JSONReader
    private let seal: TokenSeal
    private let userProofs: UserProofCheck
    private var writer = JSONWriter(capacity: 4096)

    package init(sealingKeys keys: SealingKeys?) {
        seal = TokenSeal(keys: keys)
        userProofs = UserProofCheck(seal: seal)
        let body = GatewayLimits.bodyBytesMax
        reader = JSONReader(
            limits: JSONLimits(
                bytesMax: body, depthMax: GatewayLimits.depthMax, keysMax: GatewayLimits.fieldsMax,
                problemsMax: 1))
        singleReportReader = JSONReader(
            limits: JSONLimits(
                bytesMax: body, depthMax: GatewayLimits.depthMax, keysMax: GatewayLimits.fieldsMax,
                problemsMax: GatewayLimits.problemsPerReportMax))
    }

    /// Checks all reports of a body. Throws the problems of the body as a whole.
    package func validate(
        _ body: [UInt8], for app: App, role: APIKey.Role
    ) throws(JSONError) -> ValidatedReports {
        do {
            // Nearly always all reports are good, so the first attempt reads the body once.
            return try reader.read(body) { root in
                var judged = ValidatedReports()
                guard root.kind == .array else {
                    accept(root, at: 0, for: app, role: role, into: &judged)
                    return judged
                }
                var elements = elements(of: root)
                var place = 0
                while let element = elements.next() {
                    accept(element, at: place, for: app, role: role, into: &judged)
                    place += 1
                }
                return judged
            }
        } catch {
            return try validateOneByOne(body, for: app, role: role)
        }
    }

    private func validateOneByOne(
        _ body: [UInt8], for app: App, role: APIKey.Role
    ) throws(JSONError) -> ValidatedReports {
        let parts = try reader.read(body) { root in
            guard root.kind == .array else { return [unsafe Array(root.raw)] }
            return elements(of: root).map { unsafe Array($0.raw) }
        }
        var judged = ValidatedReports()
        for (index, part) in parts.enumerated() {
            do {
                let good = try singleReportReader.read(part) { value in
                    var alone = ValidatedReports()
                    accept(value, at: index, for: app, role: role, into: &alone)
                    return alone
                }
                judged.append(good)
            } catch {
                judged.refused.append(ValidatedReports.RefusedReport(index: index, problems: error.problems))
            }
        }
        return judged
    }

    private func elements(of root: JSONValue) -> JSONArray {
        let elements = root.array(countMax: GatewayLimits.reportsPerBodyMax)
        if elements.count == 0 { root.report("has no report; send at least one") }
        return elements
    }

    /// Checks one report and accepts it if it is good.
    ///
    /// - Parameter place: The report's index in the body. It orders the reports of one body, which all may
    ///   get the same time from the cluster.
    private func accept(
        _ value: JSONValue, at place: Int, for app: App, role: APIKey.Role,
        into judged: inout ValidatedReports
    ) {
        let object = value.object()
        let version = object["v"].optional?.int(in: 1...Int(Int32.max)) ?? Report.schemaVersion
        if let named = object["app"].optional, named.string() != app.id {
            named.report("must be the app that the key belongs to, or be omitted")
        }
        var report = Report(app: app.id, from: object)
        if let environment = report.environment, !app.environments.contains(environment),
            let written = object["environment"].optional
        {
            written.report("is not an environment of this app; add it with `flotilla apps update`")
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
        report.bodyPosition = place
        checkUser(of: report, in: object, for: app, role: role)
        // Gateways are updated one by one, so unknown fields of a newer SDK version are ignored. At this
        // gateway's own version an unknown field is a typing error.
        if version <= Report.schemaVersion { object.reportUnknownFields() }
        seal.seal(tokenOf: &report)
        report.encode(to: &writer)
        judged.accept(at: place, key: report.key, value: writer, tap: ValidatedReports.Tap(report: report))
    }

    private func checkUser(of report: Report, in object: JSONObject, for app: App, role: APIKey.Role) {
        let proof = object["userProof"].optional?.string()
        guard let user = report.user else { return }
        switch userProofs.verdict(on: user, proof: proof, for: app, isTrusted: role.includes(.send)) {
        case .valid: break
        case .missing: object["userId"].report(UserProofCheck.missingMessage)
        case .wrong: object["userProof"].report(UserProofCheck.wrongMessage)
        case .uncheckable: object["userProof"].report(UserProofCheck.uncheckableMessage)
        }
    }
}
