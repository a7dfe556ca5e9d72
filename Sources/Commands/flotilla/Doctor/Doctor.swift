internal import Catalog
internal import CatalogRecords
internal import Kafka
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import Topics

/// The checks of `flotilla doctor`: of the files, keys and cluster that a stage would use if it started on this machine
/// with these settings.
struct Doctor {
    private static let requestTimeoutMilliseconds = 5_000
    /// The tolerated difference between clocks. Phones compare seconds, and all deadlines are minutes or
    /// longer.
    private static let clockToleranceMilliseconds: Int64 = 2_000

    private let settings: ResolvedSettings
    private let layout: TopicLayout
    private let contactsAPNs: Bool

    init(settings: ResolvedSettings, contactsAPNs: Bool) {
        self.settings = settings
        self.contactsAPNs = contactsAPNs
        layout = TopicLayout(settings: settings)
    }

    /// Runs the checks in the order in which they depend on each other. If a check fails, the checks that
    /// depend on it are skipped.
    func runChecks() async -> [Finding] { [checkDescriptors()] + (await checkCluster()) }

    /// Checks Kafka, then its topics, then the catalog in a topic, then the apps in the catalog. Without Kafka or its
    /// topics no app is known, and only the directory of the provider keys is checked.
    private func checkCluster() async -> [Finding] {
        guard
            let admin = try? AdminClient(
                settings: settings[KafkaSettings.self], log: .silent, metrics: Metrics())
        else {
            return [
                Finding.wrong(
                    subject: "kafka",
                    text:
                        "the settings kafka.* do not make a valid client; check them with `flotilla config --show`"
                )
            ]
        }
        let kafka = checkKafka(with: admin)
        guard kafka.verdict == .good else { return [kafka] + checkProviderKeys(for: []) }
        let topics = checkTopics(with: admin)
        guard !topics.contains(where: { $0.verdict == .wrong }) else {
            return [kafka] + topics + checkProviderKeys(for: [])
        }
        let catalog: CatalogSnapshot
        do {
            catalog = try CatalogAccess(settings: settings).snapshot
        } catch {
            return [kafka] + topics + [Finding.wrong(subject: "catalog", text: "cannot be read: \(error)")]
        }
        let apps = catalog.apps.values.sorted { $0.id < $1.id }
        var findings = [kafka] + topics + [checkClock(), checkSealingKeys(against: catalog)]
        findings += checkCatalog(catalog, apps: apps) + checkProviderKeys(for: apps)
        if contactsAPNs { findings += await APNsProbe(settings: settings).findings(for: apps) }
        return findings
    }

    /// Compares the limit with the need of a process that runs all stages, as `flotilla up` does.
    private func checkDescriptors() -> Finding {
        let requirement = DescriptorRequirement(stages: StageKind.all, lanes: layout.lanes, hasBroker: true)
        guard let limit = DescriptorLimit.current else {
            return .doubt(subject: "descriptors", text: "the system does not tell the limit of this process")
        }
        if let reason = limit.shortage(needed: requirement.total) {
            return .wrong(
                subject: "descriptors", text: "with all stages and \(layout.lanes) lanes, " + reason)
        }
        return .good(
            subject: "descriptors",
            text:
                "\(limit.soft) are allowed; a process with all stages and \(layout.lanes) lanes needs \(requirement.total)"
        )
    }

    // MARK: Kafka

    private func checkKafka(with admin: AdminClient) -> Finding {
        let brokers = settings[KafkaSettings.self].brokers.joined(separator: ", ")
        do {
            let topics = try admin.topics(withinMilliseconds: Self.requestTimeoutMilliseconds)
            return .good(subject: "kafka", text: "answers at \(brokers) and has \(topics.count) topics")
        } catch {
            return .wrong(
                subject: "kafka",
                text: "does not answer at \(brokers) (\(error)); start it, or correct kafka.brokers")
        }
    }

    private func checkTopics(with admin: AdminClient) -> [Finding] {
        do {
            let mismatches = try layout.check(on: admin)
            if !mismatches.isEmpty {
                return mismatches.map { Finding.wrong(subject: "topics", text: $0.description) }
            }
        } catch {
            return [Finding.wrong(subject: "topics", text: "cannot be checked: \(error)")]
        }
        return [
            Finding.good(
                subject: "topics",
                text: "all \(TopicName.allCases.count) exist with the right settings, \(layout.lanes) lanes")
        ]
    }

    /// Writes a line to the audit and compares the cluster's stamp with this machine's clock.
    private func checkClock() -> Finding {
        do {
            let writer = try CatalogWriter(
                settings[KafkaSettings.self], catalog: layout.name(of: .catalog),
                audit: layout.name(of: .audit),
                author: CatalogAccess.author, metrics: Metrics())
            let sentAt = WallTime.now()
            let stamp = try writer.recordAction("doctor.look", now: sentAt)
            return ClockComparison(
                sentAt: sentAt.milliseconds, stampedAt: stamp, acknowledgedAt: WallTime.now().milliseconds
            ).finding(toleranceMilliseconds: Self.clockToleranceMilliseconds)
        } catch {
            return .wrong(
                subject: "clock",
                text:
                    "cannot be compared with the cluster's clock, because no record can be written: \(error)")
        }
    }

    // MARK: Catalog and keys

    private func checkCatalog(_ catalog: CatalogSnapshot, apps: [App]) -> [Finding] {
        var findings = catalog.unusableRecords.sorted { $0.key < $1.key }.map { key, reason in
            Finding.wrong(subject: "catalog", text: "the record \(key) cannot be used: \(reason)")
        }
        if apps.isEmpty {
            findings.append(
                Finding.doubt(
                    subject: "catalog", text: "there is no app yet; create one with `flotilla apps create`")
            )
        }
        for app in apps { findings += checkAccess(to: app, in: catalog) }
        return findings.isEmpty
            ? [Finding.good(subject: "catalog", text: "\(apps.count) apps with keys")] : findings
    }

    /// Checks who can report and send for an app, and for whom.
    private func checkAccess(to app: App, in catalog: CatalogSnapshot) -> [Finding] {
        func doubt(text: String) -> Finding { .doubt(subject: "app \(app.id)", text: text) }
        let now = WallTime.now().milliseconds
        let validKeys = catalog.keys(of: app.id).filter {
            $0.revokedAt == nil && ($0.expiresAt ?? .max) > now
        }
        let missingRoles = [APIKey.Role.report, .send].filter { role in
            !validKeys.contains { $0.role.includes(role) }
        }
        var findings = missingRoles.map { role in
            doubt(text: "no key may \(role); create one with `flotilla keys create \(app.id) --role \(role)`")
        }
        if app.userProof == nil, validKeys.contains(where: { $0.role == .report }) {
            findings.append(
                doubt(
                    text:
                        "anyone who extracts the report key from the app can report as any user; require a proof with `flotilla apps user-proof`"
                ))
        }
        if app.allowsUnprovenSchedules, !app.requiresUserProof {
            findings.append(
                doubt(
                    text:
                        "anyone who extracts the report key from the app can schedule content for any user; require a proof with `flotilla apps user-proof`, then use `flotilla apps update \(app.id) --unproven-schedules no`"
                ))
        }
        return findings
    }

    /// Compares the keys of this machine with those that the installation uses, by their record in the catalog.
    private func checkSealingKeys(against catalog: CatalogSnapshot) -> Finding {
        do {
            let keys = try SealingKeyFile.read(settings: settings, for: catalog)
            guard keys != nil else {
                return catalog.sealingRecord == nil
                    ? Finding.doubt(
                        subject: "sealing keys",
                        text:
                            "no file is set, so push tokens are not encrypted; make one with `flotilla sealing-keys make FILE`"
                    )
                    : Finding.wrong(
                        subject: "sealing keys",
                        text:
                            "this installation uses sealing keys; name their file with tokens.sealing-keys-file"
                    )
            }
            return .good(subject: "sealing keys", text: "match those of this installation")
        } catch {
            return .wrong(subject: "sealing keys", text: "\(error)")
        }
    }

    private func checkProviderKeys(for apps: [App]) -> [Finding] {
        ProviderKeyCheck(settings: settings).findings(for: apps)
    }
}
