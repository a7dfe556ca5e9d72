internal import Telemetry

/// The metrics of a process that reads the catalog.
struct CatalogMetrics {
    private let changed: Counter
    private let ignored: Counter
    private let unusable: Counter
    private let apps: Gauge
    private let keys: Gauge
    private let unusableRecords: Gauge

    init(in metrics: Metrics) {
        func recordCounter(outcome: String) -> Counter {
            metrics.counter(
                "flotilla_catalog_records_total", help: "Catalog records read, by outcome.",
                labels: ["outcome": outcome])
        }
        changed = recordCounter(outcome: "changed")
        ignored = recordCounter(outcome: "ignored")
        unusable = recordCounter(outcome: "unusable")
        apps = metrics.gauge("flotilla_catalog_apps", help: "Apps that this process knows.")
        keys = metrics.gauge("flotilla_catalog_keys", help: "API keys that this process knows.")
        unusableRecords = metrics.gauge(
            "flotilla_catalog_unusable_records", help: "Catalog records that this process cannot read.")
    }

    /// Counts the effect of one record.
    func count(_ effect: CatalogSnapshot.Effect) {
        switch effect {
        case .changed: changed.add()
        case .ignored: ignored.add()
        case .unusable: unusable.add()
        }
    }

    /// Sets the gauges to the numbers of the catalog.
    func update(_ catalog: CatalogSnapshot) {
        apps.set(Double(catalog.apps.count))
        keys.set(Double(catalog.keys.count))
        unusableRecords.set(Double(catalog.unusableRecords.count))
    }
}
