"""Our server with the tools, resources and prompts that the conformance runner asks for by name.

They show that everything the protocol can carry passes through our HTTP server; a user's server never has them.
"""

from __future__ import annotations

import asyncio
import base64
import sys
from typing import Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    ClientCapabilities,
    Completion,
    EmbeddedResource,
    ImageContent,
    MissingRequiredClientCapabilityErrorData,
    SamplingCapability,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

from memoranda.aio import MemoryManager
from memoranda.mcp.base import Owner
from memoranda.mcp.http import build_http
from memoranda.mcp.run import create_server
from memoranda.server.config import ServerConfig
from memoranda.server.run import listen
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = base64.b64encode(b"RIFF$\x00\x00\x00WAVEfmt ").decode()


def _resource(uri: str, text: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    return EmbeddedResource(type="resource", resource=contents)


def _picture() -> ImageContent:
    return ImageContent(type="image", data=PIXEL, mime_type="image/png")


def add_tools(server: MCPServer) -> None:
    @server.tool(description="A fixture.", structured_output=False)
    async def test_simple_text() -> str:
        return "This is a simple text response for testing."

    @server.tool(description="A fixture.", structured_output=False)
    async def test_image_content() -> ImageContent:
        return _picture()

    @server.tool(description="A fixture.", structured_output=False)
    async def test_audio_content() -> AudioContent:
        return AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")

    @server.tool(description="A fixture.", structured_output=False)
    async def test_embedded_resource() -> EmbeddedResource:
        return _resource("test://embedded-resource", "This is an embedded resource content.")

    @server.tool(description="A fixture.", structured_output=False)
    async def test_multiple_content_types() -> list[Any]:
        text = TextContent(type="text", text="Multiple content types test:")
        return [text, _picture(), _resource("test://mixed-content-resource", '{"test":"data","value":123}')]

    @server.tool(description="A fixture.", structured_output=False)
    async def test_error_handling() -> str:
        raise ValueError("This tool intentionally returns an error for testing")

    @server.tool(description="A fixture.", structured_output=False)
    async def test_tool_with_progress(ctx: Context) -> str:
        for step in (0, 50, 100):
            await ctx.report_progress(step, 100)
            await asyncio.sleep(0.05)
        return "done"


def add_stateless(server: MCPServer) -> None:
    @server.tool(description="A fixture.", structured_output=False)
    async def test_missing_capability(ctx: Context) -> str:
        needed = ClientCapabilities(sampling=SamplingCapability())
        if not ctx.session.check_client_capability(needed):
            data = MissingRequiredClientCapabilityErrorData(required_capabilities=needed)
            details = data.model_dump(mode="json", by_alias=True, exclude_none=True)
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool asks the client's model", details)
        return "the client has it"

    @server.tool(description="A fixture.", structured_output=False)
    async def test_trigger_tool_change(ctx: Context) -> str:
        await ctx.notify_tools_changed()
        return "done"

    @server.tool(description="A fixture.", structured_output=False)
    async def test_trigger_prompt_change(ctx: Context) -> str:
        await ctx.notify_prompts_changed()
        return "done"


class Answer(BaseModel):
    """A form for the user."""

    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    """A form with defaults."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


def add_questions(server: MCPServer) -> None:
    @server.tool(description="A fixture.", structured_output=False)
    async def test_sampling(prompt: str, ctx: Context) -> str:
        message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
        response = await ctx.session.create_message([message], max_tokens=100)
        return f"LLM response: {response.content}"

    @server.tool(description="A fixture.", structured_output=False)
    async def test_elicitation(message: str, ctx: Context) -> str:
        answer = await ctx.elicit(message, Answer)
        return f"User response: {answer}"

    @server.tool(description="A fixture.", structured_output=False)
    async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
        answer = await ctx.elicit("Please review the defaults", Defaults)
        return f"Elicitation completed: {answer}"


def add_texts(server: MCPServer) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    async def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    async def static_binary() -> bytes:
        return base64.b64decode(PIXEL)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    async def template(id: str) -> str:
        return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'

    @server.prompt(description="A fixture.")
    async def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description="A fixture.")
    async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description="A fixture.")
    async def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
        words = UserMessage(TextContent(type="text", text="Please process the embedded resource above."))
        return [UserMessage(_resource(resourceUri, "Embedded resource content for testing.")), words]

    @server.prompt(description="A fixture.")
    async def test_prompt_with_image() -> list[UserMessage]:
        return [UserMessage(_picture()), UserMessage(TextContent(type="text", text="Please analyze the image above."))]

    @server.completion()
    async def complete(*_: object) -> Completion:
        return Completion(values=["paris", "park", "party"], total=3, has_more=False)


def with_fixtures(memory: MemoryManager, owner: Owner) -> MCPServer:
    server = create_server(memory, owner)
    add_tools(server)
    add_questions(server)
    add_texts(server)
    add_stateless(server)
    return server


def main(port: int) -> None:
    config, memory = ServerConfig(port=port, allow_unauthenticated=True), MemoryConfig(db_url="sqlite://")
    app = build_http(config, memory, Owner(), embedder=HashEmbedder(32), create=with_fixtures)
    listen(app, config, log_level="error")


if __name__ == "__main__":
    main(int(sys.argv[1]))
