internal import CLinux
internal import Glibc

/// An IPv4 or IPv6 address with a port, as a `sockaddr` for system calls.
package struct SocketAddress: Sendable, CustomStringConvertible {
    private var storage = sockaddr_storage()
    private var length = socklen_t(0)

    /// Copies an address that `getaddrinfo` returned.
    fileprivate init?(_ info: addrinfo) {
        let count = unsafe Int(info.ai_addrlen)
        guard let source = unsafe info.ai_addr, count <= MemoryLayout<sockaddr_storage>.size else {
            return nil
        }
        length = unsafe info.ai_addrlen
        unsafe withUnsafeMutableBytes(of: &storage) { target in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: source, count: count))
        }
    }

    /// An address that a system call fills in.
    private init() {}

    var family: Int32 { Int32(storage.ss_family) }

    /// Runs a system call that takes a `sockaddr`. Returns its result.
    func withPointer(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        unsafe withUnsafeBytes(of: storage) { bytes in
            // A non-empty buffer has a base address.
            unsafe call(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), length)
        }
    }

    /// Calls `body` with the bytes of the `sockaddr`, for a library that takes one.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe withUnsafeBytes(of: storage) { bytes in
            unsafe body(UnsafeRawBufferPointer(rebasing: bytes[..<Int(length)]))
        }
    }

    /// Returns the address that a socket is bound to.
    static func local(of descriptor: Int32) -> SocketAddress? {
        unsafe readAddress { unsafe getsockname(descriptor, $0, $1) }
    }

    /// Returns the address that a socket is connected to.
    static func peer(of descriptor: Int32) -> SocketAddress? {
        unsafe readAddress { unsafe getpeername(descriptor, $0, $1) }
    }

    private static func readAddress(
        with call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    )
        -> SocketAddress?
    {
        var address = SocketAddress()
        address.length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var length = address.length
        let code = unsafe withUnsafeMutableBytes(of: &address.storage) { bytes in
            unsafe call(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
        address.length = length
        return code == 0 ? address : nil
    }

    package var isIPv6: Bool { family == AF_INET6 }

    /// `192.0.2.1`, `2001:db8::1`
    package var host: String { numericName.host }

    package var port: Int { numericName.port }

    /// `192.0.2.1:443`, `[2001:db8::1]:443`
    package var description: String {
        let name = numericName
        return isIPv6 ? "[\(name.host)]:\(name.port)" : "\(name.host):\(name.port)"
    }

    private var numericName: (host: String, port: Int) {
        var host = [CChar](repeating: 0, count: 64)
        var port = [CChar](repeating: 0, count: 8)
        let code = unsafe withPointer { pointer, length in
            unsafe getnameinfo(pointer, length, &host, 64, &port, 8, NI_NUMERICHOST | NI_NUMERICSERV)
        }
        guard code == 0 else { return ("unknown", 0) }
        return (SocketAddress.text(from: host), Int(SocketAddress.text(from: port)) ?? 0)
    }

    private static func text(from characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension SocketAddress {
    /// Returns the addresses of a host, in the order in which to try them. The result is not cached, so the
    /// next connection finds an address that has moved. Blocks while DNS answers, unless `numericOnly`.
    ///
    /// - Parameters:
    ///   - host: A name or a numeric address. Empty or `*` means all addresses of this machine.
    ///   - listening: Whether the addresses are for a listening socket.
    ///   - numericOnly: Whether to accept only numeric addresses, so that no lookup is needed.
    static func resolve(host: String, port: Int, listening: Bool = false, numericOnly: Bool = false)
        -> Result<[SocketAddress], ResolveError>
    {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags =
            AI_NUMERICSERV | (numericOnly ? AI_NUMERICHOST : 0) | (listening ? AI_PASSIVE : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host.isEmpty || host == "*" ? nil : host, String(port), &hints, &list)
        guard code == 0 else { return .failure(ResolveError(host: host, code: code, system: errno)) }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let info = unsafe next {
            if let address = unsafe SocketAddress(info.pointee) { addresses.append(address) }
            unsafe next = info.pointee.ai_next
        }
        return .success(addresses)
    }
}

/// A failed lookup of a host.
package struct ResolveError: Error, CustomStringConvertible {
    package let description: String

    /// - Parameters:
    ///   - code: The result of `getaddrinfo`.
    ///   - system: The `errno`, used if `code` is EAI_SYSTEM.
    init(host: String, code: Int32, system: Int32) {
        let cause: String
        if code == EAI_SYSTEM {
            cause = SystemError.text(for: system)
        } else {
            // SAFETY: the text is static.
            cause = unsafe String(cString: gai_strerror(code)).lowercased()
        }
        description = "cannot find an address of \(host): \(cause); check the name and the machine's DNS"
    }
}
