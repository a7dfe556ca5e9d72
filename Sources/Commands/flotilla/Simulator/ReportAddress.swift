internal import Settings
internal import Topics

/// The address that simulated phones report to: an HTTP server or a Kafka topic. `typeDescription` has the three forms
/// of its setting.
enum ReportAddress: SettingValue, Hashable {
    case server(HostPort, path: String)
    case topic(String)

    static let typeDescription = "HOST:PORT, http://HOST:PORT/PATH, or topic:NAME"
    private static let httpScheme = "http://"
    private static let topicScheme = "topic:"
    private static let pathDefault = "/v1/reports"

    init?(settingText: String) {
        if settingText.hasPrefix(Self.topicScheme) {
            let name = String(settingText.dropFirst(Self.topicScheme.count))
            guard !name.isEmpty, TopicLayout.problem(withPrefix: name) == nil else { return nil }
            self = .topic(name)
            return
        }
        guard settingText.hasPrefix(Self.httpScheme) else {
            guard let address = HostPort(settingText: settingText) else { return nil }
            self = .server(address, path: Self.pathDefault)
            return
        }
        let addressAndPath = settingText.dropFirst(Self.httpScheme.count)
        let pathStart = addressAndPath.firstIndex(of: "/") ?? addressAndPath.endIndex
        let path = addressAndPath[pathStart...]
        let isPrintableASCII = path.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPrintableASCII, let address = HostPort(settingText: String(addressAndPath[..<pathStart]))
        else { return nil }
        self = .server(address, path: path.isEmpty ? "/" : String(path))
    }

    var settingText: String {
        switch self {
        case .server(let address, Self.pathDefault): address.settingText
        case .server(let address, let path): Self.httpScheme + address.settingText + path
        case .topic(let name): Self.topicScheme + name
        }
    }
}
