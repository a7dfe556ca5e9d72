internal import Telemetry

/// The metrics of a process that reads the catalog.
struct CatalogMetrics {
    private let changed: Counter
    private let ignored: Counter
    private let unusable: Counter
    private let apps: Gauge
    private let keys: Gauge
    private let keptOut: Gauge

    init(_ metrics: Metrics) {
        func records(_ outcome: String) -> Counter {
            metrics.counter(
                "flotilla_catalog_records_total", help: "Catalog records read, by outcome.",
                labels: ["outcome": outcome])
        }
        changed = records("changed")
        ignored = records("ignored")
        unusable = records("unusable")
        apps = metrics.gauge("flotilla_catalog_apps", help: "Apps that this process knows.")
        keys = metrics.gauge("flotilla_catalog_keys", help: "API keys that this process knows.")
        keptOut = metrics.gauge(
            "flotilla_catalog_unusable_records", help: "Catalog records that this process cannot read.")
    }

    func took(_ effect: KnownCatalog.Effect) {
        switch effect {
        case .changed: changed.add()
        case .ignored: ignored.add()
        case .unusable: unusable.add()
        }
    }

    func update(_ catalog: KnownCatalog) {
        apps.set(Double(catalog.apps.count))
        keys.set(Double(catalog.keys.count))
        keptOut.set(Double(catalog.unusable.count))
    }
}
