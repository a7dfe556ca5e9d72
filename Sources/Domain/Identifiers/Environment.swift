/// Apple's two separate environments. A token belongs to exactly one of them.
@usableFromInline package enum Environment: String, Sendable, CaseIterable {
    case production
    case sandbox
}
