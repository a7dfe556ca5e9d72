/// The URL of a webhook endpoint in its parts. Only the forms that a request needs are accepted: a scheme, a host, an
/// optional port, a path and a query, all in ASCII.
package struct WebhookURL: Sendable, Hashable {
    package enum Scheme: String, Sendable {
        case http, https

        fileprivate var port: Int {
            switch self {
            case .http: 80
            case .https: 443
            }
        }
    }

    package static let bytesMax = 2048

    package let text: String
    package let scheme: Scheme
    /// A name or a numeric address, without brackets.
    package let host: String
    package let port: Int
    /// The path with the query. It begins with a slash.
    package let path: String

    /// The value of the header `Host`.
    package var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == scheme.port ? name : "\(name):\(port)"
    }

    package init?(_ text: String) {
        guard text.utf8.count <= Self.bytesMax, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            let separator = text.firstRange(of: "://"),
            let scheme = Scheme(rawValue: text[..<separator.lowerBound].lowercased())
        else { return nil }
        let rest = text[separator.upperBound...]
        let authorityEnd = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let target = rest[authorityEnd...]
        // A fragment is never sent, and a password in a URL ends up in logs.
        guard !target.contains("#"), let (host, port) = Self.hostAndPort(in: rest[..<authorityEnd]) else {
            return nil
        }
        self.text = text
        self.scheme = scheme
        self.host = host
        self.port = port ?? scheme.port
        path = target.hasPrefix("/") ? String(target) : "/" + target
    }

    /// Returns nil for an authority with a user, an invalid host or an invalid port.
    private static func hostAndPort(in authority: Substring) -> (host: String, port: Int?)? {
        var host = authority
        var portText: Substring?
        if host.first == "[" {
            guard let end = host.firstIndex(of: "]") else { return nil }
            let behind = host[host.index(after: end)...]
            guard behind.isEmpty || behind.first == ":" else { return nil }
            portText = behind.isEmpty ? nil : behind.dropFirst()
            host = host[host.index(after: host.startIndex)..<end]
            guard !host.isEmpty, host.utf8.allSatisfy(isAddressByte) else {
                return nil
            }
        } else {
            if let colon = host.firstIndex(of: ":") {
                portText = host[host.index(after: colon)...]
                host = host[..<colon]
            }
            guard (1...253).contains(host.utf8.count), host.utf8.allSatisfy(isHostByte) else { return nil }
        }
        guard let portText else { return (String(host), nil) }
        guard portText.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = Int(portText),
            (1...65_535).contains(port)
        else { return nil }
        return (String(host), port)
    }

    /// Whether the byte can be a part of an IPv6 address, which may end in an IPv4 address.
    private static func isAddressByte(_ byte: UInt8) -> Bool {
        isHexDigit(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
