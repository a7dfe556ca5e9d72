internal import Settings
internal import Topics

/// The address that simulated phones report to.
enum ReportAddress: SettingValue, Hashable {
    case server(HostPort, path: String)
    case topic(String)

    static let typeDescription = "HOST:PORT, http://HOST:PORT/PATH, or topic:NAME"
    private static let scheme = "http://"
    private static let topicScheme = "topic:"
    private static let pathDefault = "/v1/reports"

    init?(settingText: String) {
        if settingText.hasPrefix(Self.topicScheme) {
            let name = String(settingText.dropFirst(Self.topicScheme.count))
            guard !name.isEmpty, TopicLayout.problem(withPrefix: name) == nil else { return nil }
            self = .topic(name)
            return
        }
        guard settingText.hasPrefix(Self.scheme) else {
            guard let address = HostPort(settingText: settingText) else { return nil }
            self = .server(address, path: Self.pathDefault)
            return
        }
        let rest = settingText.dropFirst(Self.scheme.count)
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        guard let address = HostPort(settingText: String(rest[..<slash])),
            rest[slash...].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        self = .server(address, path: slash == rest.endIndex ? "/" : String(rest[slash...]))
    }

    var settingText: String {
        switch self {
        case .server(let place, Self.pathDefault): place.settingText
        case .server(let place, let path): Self.scheme + place.settingText + path
        case .topic(let name): Self.topicScheme + name
        }
    }
}
