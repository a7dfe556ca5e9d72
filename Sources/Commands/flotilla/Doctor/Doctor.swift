internal import Catalog
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Settings
internal import Telemetry
internal import Topics

/// A check of the installation that a stage would meet if it started on this machine with these settings.
struct Doctor {
    private static let askMilliseconds = 5_000
    /// The tolerated difference between clocks. Phones compare seconds, and all deadlines are minutes or
    /// longer.
    private static let clockMilliseconds: Int64 = 2_000

    private let settings: ResolvedSettings
    private let layout: TopicLayout
    private let pushes: Bool

    init(_ settings: ResolvedSettings, pushes: Bool) {
        self.settings = settings
        self.pushes = pushes
        layout = TopicLayout(settings)
    }

    /// Runs the checks in order of dependency. If a check fails, the checks that depend on it are skipped.
    func look() async -> [Finding] { [descriptors()] + (await lookAtCluster()) }

    private func lookAtCluster() async -> [Finding] {
        guard
            let admin = try? AdminClient(
                settings: settings[KafkaSettings.self], log: .silent, metrics: Metrics())
        else {
            return [
                wrong(
                    "kafka",
                    "the settings kafka.* do not make a valid client; check them with `flotilla config --show`"
                )
            ]
        }
        let kafka = kafka(admin)
        guard kafka.verdict == .good else { return [kafka] + providerKeys([]) }
        let topics = topics(admin)
        guard !topics.contains(where: { $0.verdict == .wrong }) else {
            return [kafka] + topics + providerKeys([])
        }
        let catalog: CatalogSnapshot
        do {
            catalog = try CatalogAccess(settings).catalog
        } catch {
            return [kafka] + topics + [wrong("catalog", "cannot be read: \(error)")]
        }
        let apps = catalog.apps.values.sorted { $0.id < $1.id }
        var findings = [kafka] + topics + [clock(), sealingKeys(catalog)]
        findings += catalogue(catalog, apps) + providerKeys(apps)
        if pushes { findings += await APNsProbe(settings).look(at: apps) }
        return findings
    }

    /// Compares the limit with the need of a process that runs all stages, as `flotilla up` does.
    private func descriptors() -> Finding {
        let need = DescriptorNeed(StageKind.all, lanes: layout.lanes, hasBroker: true).total
        guard let limit = DescriptorLimit.current else {
            return doubt("descriptors", "the system does not tell the limit of this process")
        }
        if let reason = limit.shortage(needed: need) {
            return wrong("descriptors", "with all stages and \(layout.lanes) lanes, " + reason)
        }
        return good(
            "descriptors",
            "\(limit.soft) are allowed; a process with all stages and \(layout.lanes) lanes needs \(need)")
    }

    // MARK: Kafka

    private func kafka(_ admin: AdminClient) -> Finding {
        let brokers = settings[KafkaSettings.self].brokers.joined(separator: ", ")
        do {
            let topics = try admin.topics(withinMilliseconds: Self.askMilliseconds)
            return good("kafka", "answers at \(brokers) and has \(topics.count) topics")
        } catch {
            return wrong(
                "kafka", "does not answer at \(brokers) (\(error)); start it, or correct kafka.brokers")
        }
    }

    private func topics(_ admin: AdminClient) -> [Finding] {
        do {
            let mismatches = try layout.check(on: admin)
            if !mismatches.isEmpty { return mismatches.map { wrong("topics", $0.description) } }
        } catch {
            return [wrong("topics", "cannot be checked: \(error)")]
        }
        return [
            good(
                "topics",
                "all \(TopicName.allCases.count) exist with the right settings, \(layout.lanes) lanes")
        ]
    }

    /// Writes a line to the audit and compares the cluster's stamp with this machine's clock.
    private func clock() -> Finding {
        do {
            let writer = try CatalogWriter(
                settings[KafkaSettings.self], catalog: layout.name(of: .catalog),
                audit: layout.name(of: .audit),
                author: CatalogAccess.author, metrics: Metrics())
            let before = WallTime.now()
            let stamp = try writer.recordAction("doctor.look", now: before)
            return ClockComparison(
                sent: before.milliseconds, stamped: stamp, answered: WallTime.now().milliseconds
            ).finding(allowed: Self.clockMilliseconds)
        } catch {
            return wrong(
                "clock",
                "cannot be compared with the cluster's clock, because no record can be written: \(error)")
        }
    }

    // MARK: Catalog and keys

    private func catalogue(_ catalog: CatalogSnapshot, _ apps: [App]) -> [Finding] {
        var findings = catalog.unusableRecords.sorted { $0.key < $1.key }.map { key, reason in
            wrong("catalog", "the record \(key) cannot be used: \(reason)")
        }
        if apps.isEmpty {
            findings.append(doubt("catalog", "there is no app yet; create one with `flotilla apps create`"))
        }
        let now = WallTime.now().milliseconds
        for app in apps {
            let keys = catalog.keys(of: app.id).filter { $0.revokedAt == nil && ($0.expiresAt ?? .max) > now }
            for role in [APIKey.Role.report, .send] where !keys.contains(where: { $0.role.includes(role) }) {
                findings.append(
                    doubt(
                        "app \(app.id)",
                        "no key may \(role); create one with `flotilla keys create \(app.id) --role \(role)`"
                    ))
            }
            if app.userProof == nil, keys.contains(where: { $0.role == .report }) {
                findings.append(
                    doubt(
                        "app \(app.id)",
                        "anyone who extracts the report key from the app can report as any user; require a proof with `flotilla apps user-proof`"
                    ))
            }
        }
        return findings.isEmpty ? [good("catalog", "\(apps.count) apps with keys")] : findings
    }

    private func sealingKeys(_ catalog: CatalogSnapshot) -> Finding {
        do {
            guard try SealingKeyFile.read(settings, for: catalog) != nil else {
                return catalog.sealingRecord == nil
                    ? doubt(
                        "sealing keys",
                        "no file is set, so push tokens are not encrypted; make one with `flotilla sealing-keys make FILE`"
                    )
                    : wrong(
                        "sealing keys",
                        "this installation uses sealing keys; name their file with tokens.sealing-keys-file")
            }
            return good("sealing keys", "match those of this installation")
        } catch {
            return wrong("sealing keys", "\(error)")
        }
    }

    private func providerKeys(_ apps: [App]) -> [Finding] {
        ProviderKeyCheck(settings).findings(for: apps)
    }

    private func good(_ subject: String, _ text: String) -> Finding {
        Finding(subject: subject, verdict: .good, text: text)
    }

    private func doubt(_ subject: String, _ text: String) -> Finding {
        Finding(subject: subject, verdict: .doubt, text: text)
    }

    private func wrong(_ subject: String, _ text: String) -> Finding {
        Finding(subject: subject, verdict: .wrong, text: text)
    }
}
