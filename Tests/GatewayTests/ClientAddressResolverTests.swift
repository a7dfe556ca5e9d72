import Settings
import Testing

@testable import Gateway
@testable import HTTPServer

/// Returns a request of a peer with an `X-Forwarded-For` header for each element of `hops`.
private func request(from peer: String, through hops: [String] = []) -> HTTPRequest {
    var headers = HTTPHeaders()
    for hop in hops { headers.add("X-Forwarded-For", value: hop) }
    return HTTPRequest(method: .post, path: "/v1/reports", query: [], headers: headers, peer: peer)
}

private let resolver = ClientAddressResolver(proxies: [
    AddressRange("10.0.0.0/8")!, AddressRange("192.0.2.7")!, AddressRange("2001:db8::/33")!,
])

@Test(arguments: [
    // There is no proxy.
    ("198.51.100.1", [], "198.51.100.1"),
    // An unlisted peer may write any entries.
    ("198.51.100.1", ["203.0.113.9"], "198.51.100.1"),
    ("10.1.2.3", ["203.0.113.9"], "203.0.113.9"),
    ("::ffff:10.1.2.3", ["203.0.113.9"], "203.0.113.9"),
    ("2001:db8:7fff::1", ["2001:db8:8000::1"], "2001:db8:8000::1"),
    // The client is the last entry that is not a listed proxy.
    ("10.1.2.3", ["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
    ("10.1.2.3", ["1.1.1.1, 203.0.113.9 ,192.0.2.7", " 10.9.9.9"], "203.0.113.9"),
    ("10.1.2.3", ["10.4.4.4,10.5.5.5"], "10.4.4.4"),
    // If an entry is not an address, the answer is the address before it.
    ("10.1.2.3", [], "10.1.2.3"), ("10.1.2.3", ["unknown"], "10.1.2.3"), ("10.1.2.3", [""], "10.1.2.3"),
    ("10.1.2.3", ["203.0.113.9, 10.1.1.1:http"], "10.1.2.3"), ("10.1.2.3", ["[203.0.113.9"], "10.1.2.3"),
    // Some proxies append the port.
    ("10.1.2.3", ["203.0.113.9:4711, 10.1.1.1:80"], "203.0.113.9"),
    ("10.1.2.3", ["[2001:db8:8000::1]:4711"], "2001:db8:8000::1"),
    ("10.1.2.3", ["[2001:db8:8000::1]"], "2001:db8:8000::1"),
])
func `the client address comes from the listed proxies`(
    peer: String, hops: [String], client: String
) {
    #expect(resolver.address(of: request(from: peer, through: hops)) == client)
}

@Test func `a long list of hops is read from its end, up to a limit`() {
    let hops = (["203.0.113.9"] + Array(repeating: "10.0.0.1", count: 1000)).joined(separator: ",")
    #expect(resolver.address(of: request(from: "10.1.2.3", through: [hops])) == "10.0.0.1")
}

@Test func `an unlisted proxy is noticed`() {
    #expect(resolver.comesThroughUnlistedProxy(request(from: "198.51.100.1", through: ["1.1.1.1"])))
    #expect(!resolver.comesThroughUnlistedProxy(request(from: "198.51.100.1")))
    #expect(!resolver.comesThroughUnlistedProxy(request(from: "10.1.2.3", through: ["1.1.1.1"])))
}

@Test(arguments: [
    ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("0.0.0.0/0", "1.2.3.4", true),
    ("10.0.0.128/25", "10.0.0.129", true), ("10.0.0.128/25", "10.0.0.127", false),
    ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.2", false), ("0.0.0.0/0", "::1", false),
    ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false),
    ("::ffff:10.0.0.1", "10.0.0.1", true),
])
func `a network contains the addresses with its prefix`(
    range: String, address: String, isContained: Bool
) throws {
    #expect(try #require(AddressRange(range)).contains(try #require(IPAddress(address))) == isContained)
}

@Test(arguments: [
    "", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "proxy", "::/129", "10.0.0.0/8/8",
])
func `an invalid network is refused`(_ text: String) { #expect(AddressRange(text) == nil) }
