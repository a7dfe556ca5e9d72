/// Names of installations and users. Most are derived from a number, and only the others are stored.
struct PhoneNames {
    static let installationPrefix = "phone-"
    static let userPrefix = "user-"

    private var installations: [Int: String] = [:]
    private var numbers: [String: Int] = [:]
    /// Given user names by phone.
    private var users: [Int: String] = [:]

    mutating func name(_ number: Int, _ installation: String) {
        installations[number] = installation
        numbers[installation] = number
    }

    func installation(_ number: Int) -> String {
        installations[number] ?? "\(Self.installationPrefix)\(number)"
    }

    /// Returns the number of the phone with this name, below `count`.
    func number(_ installation: String, count: Int) -> Int? {
        if let number = numbers[installation] { return number }
        guard installation.hasPrefix(Self.installationPrefix),
            let number = Int(installation.dropFirst(Self.installationPrefix.count)),
            (0..<count).contains(number), installations[number] == nil
        else { return nil }
        return number
    }

    /// Sets the phone's user. Nil logs the user out.
    mutating func logIn(_ user: String?, on number: Int, _ phone: inout Phone) {
        users[number] = user
        phone.user = -1
    }

    func user(_ number: Int, _ phone: Phone) -> String? {
        users[number] ?? (phone.user >= 0 ? "\(Self.userPrefix)\(phone.user)" : nil)
    }
}
