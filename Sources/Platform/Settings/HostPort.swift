/// An address to listen on or to connect to: `127.0.0.1:9092`, `[::1]:9092`, `kafka:9092`.
package struct HostPort: SettingValue, Hashable {
    package let host: String
    /// 0 lets the kernel choose the port to listen on.
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Whether only this machine can reach a listener at the address.
    package var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }

    package static var typeDescription: String { "a host and a port, such as 127.0.0.1:9092 or [::1]:9092" }

    package init?(settingText: String) {
        guard let colon = settingText.lastIndex(of: ":"),
            let port = Int(settingText[settingText.index(after: colon)...]), (0...65535).contains(port)
        else { return nil }
        var host = settingText[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.allSatisfy({ $0.isASCII && !$0.isWhitespace }) else { return nil }
        self.init(host: String(host), port: port)
    }

    package var settingText: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
