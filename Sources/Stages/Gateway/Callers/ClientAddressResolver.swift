package import HTTPServer
package import Settings

/// The rule that finds the client's address in a request that came through proxies. Each proxy appends the address of
/// its caller to `X-Forwarded-For`, for example `203.0.113.9, 10.0.0.7`. Only entries that listed proxies appended are
/// trusted, because a client can forge everything to their left.
package struct ClientAddressResolver: Sendable {
    /// The entries of `X-Forwarded-For` that are examined, from the right. Further ones are ignored.
    package static let hopsMax = 16

    /// The listed proxies: the setting `gateway.proxies`.
    private let proxies: [AddressRange]

    package init(proxies: [AddressRange]) { self.proxies = proxies }

    /// Returns the first address that is not a listed proxy: the connection's peer, or else an entry of
    /// `X-Forwarded-For` from the right.
    package func address(of request: HTTPRequest) -> String {
        var address = request.peer
        guard isProxy(address) else { return address }
        let entries = request.headers.all(named: "x-forwarded-for").flatMap { $0.split(separator: ",") }
        for entry in entries.suffix(Self.hopsMax).reversed() {
            // If a listed proxy appended no address, the proxy's own address is the best answer.
            guard let hop = Self.address(in: entry.withoutOuterBlanks()) else {
                return address
            }
            address = hop
            guard isProxy(address) else { return address }
        }
        return address
    }

    /// Returns the address of an entry, without the port that some proxies append: `203.0.113.9:4711`,
    /// `[2001:db8::1]:4711`.
    private static func address(in entry: String) -> String? {
        if IPAddress(entry) != nil { return entry }
        var (host, port) = (Substring(entry), Substring())
        if entry.hasPrefix("["), let end = entry.firstIndex(of: "]") {
            host = entry[..<end].dropFirst()
            port = entry[end...].dropFirst()
        } else if let colon = entry.firstIndex(of: ":") {
            (host, port) = (entry[..<colon], entry[colon...])
        }
        let hasPort = port.isEmpty || (port.first == ":" && UInt16(port.dropFirst()) != nil)
        return hasPort && IPAddress(host) != nil ? String(host) : nil
    }

    /// Whether a peer that is no listed proxy sends `X-Forwarded-For`.
    package func comesThroughUnlistedProxy(_ request: HTTPRequest) -> Bool {
        !isProxy(request.peer) && request.headers["x-forwarded-for"] != nil
    }

    private func isProxy(_ address: String) -> Bool {
        guard !proxies.isEmpty, let address = IPAddress(address) else { return false }
        return proxies.contains { $0.contains(address) }
    }
}

extension Substring {
    /// Returns the text without the spaces and tabs at its ends.
    fileprivate func withoutOuterBlanks() -> String {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        var trimmed = drop(while: isBlank)
        while let last = trimmed.last, isBlank(last) { trimmed.removeLast() }
        return String(trimmed)
    }
}
